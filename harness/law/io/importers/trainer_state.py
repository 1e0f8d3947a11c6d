"""Read TRL's log history, in a trainer_state.json or as a list in its own file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = 'must hold a list of JSON objects under "log_history"'
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"\n\s*\{")


def looks_like(data: bytes) -> bool:
    return data.lstrip()[:1] == b"[" or b'"log_history"' in data


def rows(data: bytes) -> Rows:
    """Read the records one by one, so that a truncated file yields those before its end."""
    text = data.decode("utf-8", "replace")
    parsed: list[Row] = []
    row_lines, malformed = [], []
    line, previous = 1, 0
    for position, value in _records(text):
        line, previous = line + text.count("\n", previous, position), position
        if isinstance(value, dict):
            parsed.append(value)
            row_lines.append(line)
        else:
            malformed.append(line)
    is_complete = text.rstrip().endswith(("]", "}"))
    torn = malformed.pop() if malformed and not is_complete else None
    return Rows(parsed, row_lines, damaged(malformed, torn), RULE, scattered=True)


def _records(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of each record; None for one that is no JSON."""
    start = _HISTORY.search(text)
    position = start.end() if start else text.find("[") + 1
    decoder = json.JSONDecoder()
    while position:
        position = _skip_separators(text, position)
        if position >= len(text) or text[position] == "]":
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            value, end = None, _next_object(text, position)
        yield position, value
        position = end


def _skip_separators(text: str, position: int) -> int:
    match = _NEXT.match(text, position)
    return match.end() if match else position


def _next_object(text: str, position: int) -> int:
    """Return the position of the record after a damaged one; 0 if there is none."""
    match = _OBJECT.search(text, position + 1)
    return match.start() if match else 0
