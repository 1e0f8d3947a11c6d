"""Read one JSON object per line: this project, prime-rl, trackers, and verl (under "data")."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.law.io import checksums
from harness.law.io.importers import verl_console
from harness.law.io.importers.rows import Row, Rows, damaged
from harness.records import metric_rows

RULE = "must hold one JSON object a line"
CHECKED = f"{RULE}, with the checksum that it was written with"


def rows(data: bytes) -> Rows:
    """Read the lines that are JSON objects. Others are damage, except blank lines.

    An object that does not match its checksum is damage too. The checksum is not a column.
    """
    parsed: list[Row] = []
    row_lines, malformed = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        value = _value(line)
        if isinstance(value, dict):
            parsed.append(_unwrap_data(value))
            row_lines.append(number)
        else:
            malformed.append(number)
    torn = malformed.pop() if malformed[-1:] == [len(lines)] else None
    result = Rows(
        parsed, row_lines, damaged(malformed, torn), RULE, scattered=False, checksums=checksums.NONE
    )
    return _check(result, lines) if checksums.QUOTED in data else result


def _check(parsed: Rows, lines: Sequence[bytes]) -> Rows:
    checked = checksums.check([lines[number - 1] for number in parsed.lines])
    if checked.coverage == checksums.NONE:
        return parsed
    changed = set(checked.damaged)
    kept_rows = [index for index in range(len(parsed.rows)) if index not in changed]
    changed_lines = (
        {"checksum": [parsed.lines[index] for index in checked.damaged]} if changed else {}
    )
    return Rows(
        [_without_checksum(parsed.rows[index]) for index in kept_rows],
        [parsed.lines[index] for index in kept_rows],
        {**parsed.damage, **changed_lines},
        CHECKED,
        scattered=False,
        checksums=checked.coverage,
    )


def _without_checksum(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != metric_rows.KEY}


def _value(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))  # json.loads(bytes) would accept UTF-16
    except (ValueError, RecursionError):
        return None


def _unwrap_data(row: Mapping[str, Any]) -> Row:
    """Return the metrics of verl's rows, {"step": 1, "data": {...}}, and other rows unchanged."""
    inner = row.get("data")
    if not isinstance(inner, dict) or not row.keys() <= {"step", "data"}:
        return row
    step = row.get("step")
    if isinstance(step, int) and not isinstance(step, bool):
        step = verl_console.training_step(step)
    return {**inner, "step": step}
