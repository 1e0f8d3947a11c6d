"""One JSON object a line: this project, prime-rl, trackers' histories; verl's under "data"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.law.importers import verl_console
from harness.law.importers.rows import Row, Rows, damaged

RULE = "must hold one JSON object a line"


def rows(data: bytes) -> Rows:
    """The lines that are JSON objects; every other one is damage, blank ones are nothing."""
    found: list[Row] = []
    places, malformed = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        value = _value(line)
        if isinstance(value, dict):
            found.append(_lifted(value))
            places.append(number)
        else:
            malformed.append(number)
    torn = malformed.pop() if malformed[-1:] == [len(lines)] else None
    return Rows(found, places, damaged(malformed, torn), RULE, scattered=False)


def _value(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))  # of bytes, json would take UTF-16 too
    except (ValueError, RecursionError):
        return None


def _lifted(row: Mapping[str, Any]) -> Row:
    """verl writes {"step": 1, "data": {...}}."""
    inner = row.get("data")
    if not isinstance(inner, dict) or not row.keys() <= {"step", "data"}:
        return row
    step = row.get("step")
    if isinstance(step, int) and not isinstance(step, bool):
        step = verl_console.training_step(step)
    return {**inner, "step": step}
