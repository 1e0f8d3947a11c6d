"""metrics.jsonl into columns. Any damage ends in a counted reason, never in a traceback.

Written for files of a killed run, of a run still going, and of other programs: a line that is
not a JSON object is left out and counted, and its place is kept for the message.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.law import fast_reading
from harness.law.results import Floats, ReadProblem

LARGEST_BYTES = 4 * 2**30
"""A larger file is refused: the whole of it is held in memory."""
FAULTS = fast_reading.FAULTS

Codes = NDArray[np.int8]
Places = dict[str, list[int]]
"""Reason -> line numbers, from 1."""


class ReadError(Exception):
    """The file gives no table; `problem` says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.problem = ReadProblem(kind, message)


@dataclass(frozen=True)
class Table:
    """The asked-for columns of the lines that are rows. Arrays have shape (rows,)."""

    path: Path
    lines: NDArray[np.int64]
    """Line number of each row, from 1."""
    columns: Mapping[str, Floats]
    """Column -> values, NaN where there is no finite number."""
    faults: Mapping[str, Codes]
    """Column -> index into FAULTS, 0 where there is a finite number."""
    names: tuple[str, ...]
    """Every key seen in any row."""
    damage: Places
    """Lines that are no rows."""


def read(path: Path, wanted: Sequence[str], still_written: bool = False) -> Table:
    """Read the columns `wanted`, and whatever names there are.

    A torn last line is damage unless the file is still being written. Raises ReadError with
    empty_input or unreadable.
    """
    data = _bytes(path).removeprefix(b"\xef\xbb\xbf")
    quick = fast_reading.columns(data, wanted)
    if quick is not None:
        lines = np.arange(1, len(quick.values[wanted[0]]) + 1)
        return Table(path, lines, quick.values, quick.faults, quick.names, {})
    return _read_line_by_line(path, data, wanted, still_written)


def _read_line_by_line(
    path: Path, data: bytes, wanted: Sequence[str], still_written: bool
) -> Table:
    lines = data.split(b"\n")
    rows, places, damage = _parse(lines)
    if damage["malformed_line"][-1:] == [len(lines)]:
        damage["malformed_line"].pop()
        damage["torn_last_line"] = [] if still_written else [len(lines)]
    damage = {reason: where for reason, where in damage.items() if where}
    if not rows:
        raise _no_rows(path, damage)
    columns, faults = {}, {}
    for name in wanted:
        columns[name], faults[name] = _column(rows, name)
    names = tuple(dict.fromkeys(key for row in rows for key in row))
    return Table(path, np.array(places), columns, faults, names, damage)


def _bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ReadError("unreadable", f"{path}: must be a regular file, and is not")
        if status.st_size > LARGEST_BYTES:
            size = f"{status.st_size / 2**30:.1f} GiB"
            limit = f"{LARGEST_BYTES / 2**30:.0f} GiB"
            raise ReadError("unreadable", f"{path}: must be at most {limit}, is {size}")
        return path.read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
        raise ReadError("unreadable", f"{path}: must be readable, and is not: {why}") from error


def _parse(lines: Iterable[bytes]) -> tuple[list[dict[str, Any]], list[int], Places]:
    rows: list[dict[str, Any]] = []
    places: list[int] = []
    damage: Places = {"malformed_line": []}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))  # of bytes, json would take UTF-16 too
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            rows.append(value)
            places.append(number)
        else:
            damage["malformed_line"].append(number)
    return rows, places, damage


def _no_rows(path: Path, damage: Places) -> ReadError:
    if not damage:
        return ReadError("empty_input", f"{path}: must hold one JSON object a line, is empty")
    first = min(min(where) for where in damage.values())
    count = sum(map(len, damage.values()))
    rule = "must hold one JSON object a line"
    return ReadError("unreadable", f"{path}:{first}: {rule}, and none of {count} lines is one")


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[Floats, Codes]:
    values = np.full(len(rows), np.nan)
    faults = np.zeros(len(rows), np.int8)
    for index, row in enumerate(rows):
        number = _number(row.get(name))
        if isinstance(number, str):
            faults[index] = FAULTS.index(number)
        else:
            values[index] = number
    return values, faults


def _number(value: Any) -> float | str:
    """A finite float, or one of FAULTS."""
    if value is None:
        return "null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "wrong_type"
    try:
        number = float(value)
    except OverflowError:
        return "infinite"
    if math.isnan(number):
        return "nan"
    return "infinite" if math.isinf(number) else number
