"""Represent a log as columns of numbers, the common result of all readers.

Where a column has no finite number, a fault code tells what it has instead.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.law.io.importers import aliases
from harness.law.io.importers.rows import LinesByReason, Rows
from harness.law.result_parts import ReadProblem
from harness.law.results import Floats
from harness.records.metric_rows import RowSums

FAULTS = ("", "null", "nan", "infinite", "wrong_type")
"""Kinds of values that are no finite number. The code of a fault is its index; 0 means no fault."""
Codes = NDArray[np.int8]


def as_numbers(values: Sequence[Any]) -> tuple[Floats, Codes]:
    """Return values (NaN where there is no finite number) and fault codes, shape (rows,)."""
    numbers = np.full(len(values), np.nan)
    faults = np.zeros(len(values), np.int8)
    for index, value in enumerate(values):
        number = _number(value)
        if isinstance(number, str):
            faults[index] = FAULTS.index(number)
        else:
            numbers[index] = number
    return numbers, faults


def no_numbers(count: int) -> tuple[Floats, Codes]:
    """Return the values and fault codes of a missing column, shape (count,)."""
    return np.full(count, np.nan), np.full(count, FAULTS.index("null"), np.int8)


def columns_of_rows(
    rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]
) -> tuple[dict[str, Floats], dict[str, Codes]]:
    """Return the values and the fault codes of the columns `wanted`."""
    by_name = {name: as_numbers([row.get(name) for row in rows]) for name in wanted}
    columns = {name: values for name, (values, _) in by_name.items()}
    return columns, {name: faults for name, (_, faults) in by_name.items()}


def arrow_numbers(column: pa.ChunkedArray) -> tuple[Floats, Codes]:
    """Return the values and fault codes of an arrow column of numbers."""
    array = column.combine_chunks()
    numbers = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=True)
    faults = np.zeros(len(numbers), np.int8)
    if not array.null_count and np.isfinite(numbers).all():
        return numbers, faults
    faults[np.isnan(numbers)] = FAULTS.index("nan")
    faults[np.isinf(numbers)] = FAULTS.index("infinite")
    faults[array.is_null().to_numpy(zero_copy_only=False)] = FAULTS.index("null")
    numbers[faults > 0] = np.nan
    return numbers, faults


def _number(value: Any) -> float | str:
    """Return a finite float, or one of FAULTS."""
    if value is None:
        return "null"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "wrong_type"
    try:
        number = float(value)
    except OverflowError:
        return "infinite"
    if math.isnan(number):
        return "nan"
    return "infinite" if math.isinf(number) else number


NULL = FAULTS.index("null")


class ReadError(Exception):
    """Raised if a file cannot be read as a table; `problem` has the reason."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.problem = ReadProblem(kind, message)


@dataclass(frozen=True)
class LogTable:
    """The requested columns of the valid rows of a log. Arrays have shape (rows,)."""

    path: Path
    lines: NDArray[np.int64]
    """Line number of each row, from 1."""
    columns: Mapping[str, Floats]
    """Column -> values, NaN where there is no finite number. The steps are always in `step`."""
    faults: Mapping[str, Codes]
    """Column -> index into FAULTS, 0 where there is a finite number."""
    names: tuple[str, ...]
    """All keys of all rows, and `step` if the log has steps under another name."""
    damage: LinesByReason
    """Reason -> numbers of the lines that are no valid rows."""
    first: Mapping[str, str] = field(default_factory=dict)
    """Column -> text of its first value, which may be no number; empty from the quick reader."""
    checksums: str | None = None
    """Whether ALL, SOME or NONE of the rows have one (checksums.py); None if not supported."""
    sums: RowSums | None = None
    """Sums of the rows of an undamaged file, if the reader computed them."""


def is_ours(names: Sequence[str]) -> bool:
    """Return whether a log has this project's column names, and so one row per step."""
    return {"step", "entropy"} <= set(names) and ("reward" in names or "eval/reward" in names)


def names_to_read(
    names: Sequence[str], wanted: Sequence[str], step: str | None = None
) -> dict[str, str]:
    """Return column of the table -> name in the log, for wanted columns and known names.

    `step`: the column named by the user; None to find a known name.
    """
    columns = {name: name for name in wanted}
    if not is_ours(names):
        known_names = (
            aliases.first_accepted(names, aliases.ENTROPIES),
            aliases.first_accepted(names, aliases.REWARDS),
        )
        columns |= {name: name for name in known_names if name}
    return columns | {"step": step or aliases.first_accepted(names, aliases.STEPS) or "step"}


def refuse_repeats(
    where: str, names: Sequence[str], wanted: Sequence[str], step: str | None = None
) -> None:
    """Raise ReadError if a column to read occurs more than once in the header."""
    for name in dict.fromkeys(names_to_read(names, wanted, step).values()):
        if names.count(name) > 1:
            rule = f"a column to read must occur once, got {names.count(name)} with the name"
            raise ReadError("unreadable", f"{where}: {rule} {name!r}")


def from_rows(path: Path, parsed: Rows, wanted: Sequence[str], step: str | None = None) -> LogTable:
    names = tuple(dict.fromkeys(key for row in parsed.rows for key in row))
    log_names = names_to_read(names, wanted, step)
    numbers, faults = columns_of_rows(parsed.rows, list(log_names.values()))
    table = LogTable(
        path,
        np.array(parsed.lines, np.int64),
        {column: numbers[name] for column, name in log_names.items()},
        {column: faults[name] for column, name in log_names.items()},
        tuple(
            dict.fromkeys(
                (*names, *(column for column, name in log_names.items() if name in names))
            )
        ),
        parsed.damage,
        {column: reprlib.repr(parsed.rows[0].get(name)) for column, name in log_names.items()},
        parsed.checksums,
    )
    return join_rows(table) if parsed.scattered or not is_ours(names) else table


def join_rows(table: LogTable) -> LogTable:
    """Join the rows of a program that spreads a step over several rows.

    Rows of a step without common columns become one row, at the position of the last of them. A row
    that repeats a column begins a new one.
    """
    steps = table.columns["step"]
    if len(np.unique(steps)) == len(steps):
        return table
    measured = [faults != NULL for name, faults in table.faults.items() if name != "step"]
    parts = _group_rows(steps, np.array(measured, bool).reshape(len(measured), len(steps)))
    last = np.array([part[-1] for part in parts])
    order = np.argsort(last)
    chosen = {name: last.copy() for name in table.columns}
    for index, part in enumerate(parts):
        for name, faults in table.faults.items():
            if name != "step":
                chosen[name][index] = next((row for row in part if faults[row] != NULL), part[-1])
    return replace(
        table,
        lines=table.lines[last[order]],
        columns={name: table.columns[name][chosen[name][order]] for name in table.columns},
        faults={name: table.faults[name][chosen[name][order]] for name in table.columns},
    )


def _group_rows(steps: Floats, measured: NDArray[np.bool_]) -> list[list[int]]:
    """Group the rows of each step that have no common column, in the order of the file."""
    parts: list[list[int]] = []
    latest: dict[float, int] = {}
    filled = np.zeros_like(measured)
    for row, step in enumerate(steps):
        part = latest.get(step)
        if part is not None and not (filled[:, part] & measured[:, row]).any():
            parts[part].append(row)
        else:
            part = latest[step] = len(parts)
            parts.append([row])
        filled[:, part] |= measured[:, row]
    return parts
