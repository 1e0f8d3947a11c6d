"""A log as columns of numbers: what every reader gives, whatever the file was."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.law.io import values
from harness.law.io.importers import aliases
from harness.law.io.importers.rows import Places, Rows
from harness.law.io.values import FAULTS, Codes
from harness.law.results import Floats, ReadProblem
from harness.records.metric_rows import RowSums

NULL = FAULTS.index("null")


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
    """Column -> values, NaN where there is no finite number; `step` whatever the log calls it."""
    faults: Mapping[str, Codes]
    """Column -> index into FAULTS, 0 where there is a finite number."""
    names: tuple[str, ...]
    """Every key seen in any row, and `step` where the log has one under another name."""
    damage: Places
    """Lines that are no rows."""
    first: Mapping[str, str] = field(default_factory=dict)
    """Column -> what the first row of the file has there, where that may be no number."""
    checksums: str | None = None
    """How many rows have one (checksums.py); None where the format knows none."""
    sums: RowSums | None = None
    """Of the rows of a file without damage, where they were at hand."""


def ours(names: Sequence[str]) -> bool:
    """Whether a log has this project's layout: one row a step, under its names."""
    return {"step", "entropy"} <= set(names) and ("reward" in names or "eval/reward" in names)


def asked(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Column of the table -> the log's name: those wanted, and the known names it has."""
    columns = {name: name for name in wanted}
    if not ours(names):
        taken = (aliases.first(names, aliases.ENTROPIES), aliases.first(names, aliases.REWARDS))
        columns |= {name: name for name in taken if name}
    return columns | {"step": aliases.first(names, aliases.STEPS) or "step"}


def refuse_repeats(where: str, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise ReadError where a column that is read stands there more than once: which is meant?"""
    for name in dict.fromkeys(asked(names, wanted).values()):
        if names.count(name) > 1:
            rule = f"a column that is read must be there once, got {names.count(name)} called"
            raise ReadError("unreadable", f"{where}: {rule} {name!r}")


def from_rows(path: Path, read: Rows, wanted: Sequence[str]) -> Table:
    names = tuple(dict.fromkeys(key for row in read.rows for key in row))
    named = asked(names, wanted)
    numbers, faults = values.columns(read.rows, list(named.values()))
    table = Table(
        path,
        np.array(read.lines, np.int64),
        {column: numbers[name] for column, name in named.items()},
        {column: faults[name] for column, name in named.items()},
        tuple(dict.fromkeys((*names, *(c for c, name in named.items() if name in names)))),
        read.damage,
        {column: reprlib.repr(read.rows[0].get(name)) for column, name in named.items()},
        read.checksums,
    )
    return joined(table) if read.scattered or not ours(names) else table


def joined(table: Table) -> Table:
    """The table of a program that spreads a step over several rows: those that complete each
    other are one, placed where the last of them is. A row that repeats a column begins anew.
    """
    steps = table.columns["step"]
    if len(np.unique(steps)) == len(steps):
        return table
    held = [faults != NULL for name, faults in table.faults.items() if name != "step"]
    parts = _parts(steps, np.array(held))
    last = np.array([part[-1] for part in parts])
    order = np.argsort(last)
    chosen = {name: last.copy() for name in table.columns}
    for place, part in enumerate(parts):
        for name, faults in table.faults.items():
            if name != "step":
                chosen[name][place] = next((i for i in part if faults[i] != NULL), part[-1])
    return replace(
        table,
        lines=table.lines[last[order]],
        columns={name: table.columns[name][chosen[name][order]] for name in table.columns},
        faults={name: table.faults[name][chosen[name][order]] for name in table.columns},
    )


def _parts(steps: Floats, held: NDArray[np.bool_]) -> list[list[int]]:
    """The rows of each step that share no column, in the order of the file."""
    parts: list[list[int]] = []
    begun: dict[float, int] = {}
    full = np.zeros_like(held)
    for row, step in enumerate(steps):
        at = begun.get(step)
        if at is not None and not (full[:, at] & held[:, row]).any():
            parts[at].append(row)
        else:
            at = begun[step] = len(parts)
            parts.append([row])
        full[:, at] |= held[:, row]
    return parts
