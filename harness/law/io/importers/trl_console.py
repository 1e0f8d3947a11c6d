"""Read TRL's console output: `{'reward': '0.52', 'entropy': '1.31', 'epoch': '0.1', ...}`."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import Any

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = "must hold TRL's lines {'reward': number, 'entropy': number, ...}"
_RECORD = re.compile(rb"\{[^{}]*'epoch': [^{}]*\}\s*$")
_TRAINED = ("reward", "entropy")
_LONGEST_BYTES = 100_000
"""Longest record. Longer lines are skipped without parsing."""


def looks_like(data: bytes) -> bool:
    return any(_record(line) for line in data.split(b"\n") if b"'epoch'" in line)


def rows(data: bytes) -> Rows:
    """Read the records among other output and progress bars.

    Records have no step. The N-th training record gets step N, regardless of `logging_steps`, and
    an evaluation gets the step of the training record before it.
    """
    parsed: list[Row] = []
    row_lines, step = [], 0
    for number, line in enumerate(data.split(b"\n"), 1):
        record = _record(line) if b"'epoch'" in line else {}
        if not record:
            continue
        step += any(name in record for name in _TRAINED)
        parsed.append({**record, "step": max(1, step)})
        row_lines.append(number)
    return Rows(parsed, row_lines, damaged([], None), RULE, scattered=True)


def _record(line: bytes) -> dict[str, Any]:
    """Return the record at the end of a line; empty if there is none."""
    match = _RECORD.search(line) if len(line) <= _LONGEST_BYTES else None
    if match is None:
        return {}
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(match[0].decode("utf-8", "replace").strip())
        if isinstance(value, dict):
            return {str(name): _number(inner) for name, inner in value.items()}
    return {}


def _number(value: Any) -> Any:
    """Convert text to a number, because transformers 5 prints numbers as text."""
    with contextlib.suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value
