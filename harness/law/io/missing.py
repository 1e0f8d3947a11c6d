"""The rows that a run of ours must have and its log has not: each step from 1 to the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.io.clean import FIRST_FEW, LARGEST, Mask
from harness.law.io.reading import Table
from harness.law.results import Floats

REASON = "missing_row"
"""The key in `dropped`."""


@dataclass(frozen=True)
class Missing:
    """Steps without a line in the file."""

    count: int
    first: tuple[int, ...]
    """Up to FIRST_FEW of them."""


NOTHING = Missing(0, ())


def rows(table: Table, last_step: int) -> Missing:
    """Of the steps 1 to `last_step`, or to the last in the log where that is further on.

    A line that is there but is no row stands for the step after that of the line before it: it is
    counted as what it is, and not as missing too.
    """
    steps = table.columns["step"]
    known = np.unique(steps[_whole(steps)])
    last = max(last_step, int(known[-1]) if len(known) else 0)
    if len(known) == last:
        return NOTHING
    seen = {int(step) for step in known}
    seen |= _stood_for(table, seen, last)
    return Missing(last - len(seen), _first(sorted(seen), last))


def last_step(table: Table) -> int:
    """The last step in the log; 0 where no row has one."""
    steps = table.columns["step"]
    known = steps[_whole(steps)]
    return int(known.max()) if len(known) else 0


def _whole(steps: Floats) -> Mask:
    """Which are numbers that a step can be."""
    whole: Mask = (steps >= 1) & (steps <= LARGEST) & (steps == np.floor(steps))
    return whole


def _stood_for(table: Table, seen: set[int], last: int) -> set[int]:
    steps = table.columns["step"]
    whole = _whole(steps)
    told = {
        int(n): int(s) if w else None for n, s, w in zip(table.lines, steps, whole, strict=True)
    }
    told |= dict.fromkeys(line for lines in table.damage.values() for line in lines)
    found: set[int] = set()
    before = 0
    for line in sorted(told):
        step = told[line]
        if step is not None:
            before = step
        elif before + 1 <= last and before + 1 not in seen:
            before += 1
            found.add(before)
    return found


def _first(seen: Sequence[int], last: int) -> tuple[int, ...]:
    found: list[int] = []
    expected = 1
    for step in (*seen, last + 1):
        found += range(expected, min(step, expected + FIRST_FEW))
        if len(found) >= FIRST_FEW:
            break
        expected = step + 1
    return tuple(found[:FIRST_FEW])
