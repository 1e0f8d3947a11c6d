"""One JSON object a line: this project, prime-rl, trackers' histories; verl's under "data"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.law.io import checksums
from harness.law.io.importers import verl_console
from harness.law.io.importers.rows import Row, Rows, damaged
from harness.records import metric_rows

RULE = "must hold one JSON object a line"
CHECKED = f"{RULE}, as its checksum says it was written"


def rows(data: bytes) -> Rows:
    """The lines that are JSON objects; every other one is damage, blank ones are nothing.

    So is an object that is not what its checksum was taken of. The checksum is no column.
    """
    parsed: list[Row] = []
    places, malformed = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        value = _value(line)
        if isinstance(value, dict):
            parsed.append(_lifted(value))
            places.append(number)
        else:
            malformed.append(number)
    torn = malformed.pop() if malformed[-1:] == [len(lines)] else None
    read = Rows(
        parsed, places, damaged(malformed, torn), RULE, scattered=False, checksums=checksums.NONE
    )
    return _checked(read, lines) if checksums.QUOTED in data else read


def _checked(read: Rows, lines: Sequence[bytes]) -> Rows:
    checked = checksums.check([lines[number - 1] for number in read.lines])
    if checked.held == checksums.NONE:
        return read
    changed = set(checked.damaged)
    kept = [place for place in range(len(read.rows)) if place not in changed]
    where = {"checksum": [read.lines[place] for place in checked.damaged]} if changed else {}
    return Rows(
        [_without_checksum(read.rows[place]) for place in kept],
        [read.lines[place] for place in kept],
        {**read.damage, **where},
        CHECKED,
        scattered=False,
        checksums=checked.held,
    )


def _without_checksum(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != metric_rows.KEY}


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
