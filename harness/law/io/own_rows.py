"""Whether the rows of a log are those that its run wrote: run.json has a sum of them.

Rows of another run, or rows whose checksums were taken out or made anew, are sound by themselves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.law.io.table import Table
from harness.records import metric_rows
from harness.records.metric_rows import RowSums

BOM = b"\xef\xbb\xbf"


def problem(table: Table, own: RowSums | None, last_step: int) -> str | None:
    """Why the rows are not the run's, by its sum `own` of those up to `last_step`; None where they
    are, or where that cannot be told.

    Of a log that lacks rows only the first one is told; those that are left out are counted.
    """
    if own is None:
        return None
    steps = table.columns["step"]
    order = np.argsort(steps, kind="stable")
    whole = not table.damage and np.array_equal(steps[order], np.arange(1, last_step + 1))
    lines = table.lines[order] if whole else table.lines[steps == 1][-1:]
    if not len(lines):
        return None
    at_hand = table.sums if whole and (np.diff(lines) > 0).all() else None
    found = at_hand or _summed(table.path, lines.tolist())
    if found is None or (found == own if whole else found.first == own.first):
        return None
    return (
        f"{table.path}: rows must be those that the run wrote, by the sum in run.json, and are not"
    )


def _summed(path: Path, numbers: Sequence[int]) -> RowSums | None:
    """Of the lines with these numbers, from 1; None where the file is not there any more."""
    with contextlib.suppress(OSError, IndexError):
        lines = path.read_bytes().removeprefix(BOM).split(b"\n")
        return metric_rows.sums(lines[number - 1] for number in numbers)
    return None
