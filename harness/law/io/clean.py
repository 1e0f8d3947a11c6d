"""From a table to the points a law is fitted on: valid, sorted, one per step, the rest counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.law.io.importers.aliases import EVALUATIONS
from harness.law.io.table import FAULTS, Codes, Table
from harness.law.results import Floats

Mask = NDArray[np.bool_]
NO_EVALUATION = "no_evaluation"
REASONS = (
    "", NO_EVALUATION, "missing_reward", "missing_entropy", "missing_step", "nan", "infinite",
    "wrong_type", "out_of_range", "duplicate_step",
)  # fmt: skip
"""Why a row is no point, "" where it is one; no_evaluation is not damage."""
Reasons = NDArray[np.int8]
"""The index of each row's in REASONS."""
LARGEST = 1e100
"""Largest step or reward: the square of a larger one is no number any more."""
FIRST_FEW = 3
"""So many rows left out for a reason are named by file and line."""
HIGHEST_ENTROPY_NATS = 20.0
"""Above the entropy of any vocabulary in use (log of 485 million): a mistake, not a measurement."""
FEWEST_POINTS = 16
"""Fewest points of a run: below it nothing is judged, located or compared."""


@dataclass(frozen=True)
class Points:
    """Steps ascending, without repeats. All arrays have shape (n,)."""

    steps: Floats
    entropy: Floats
    """H, nats"""
    reward: Floats

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def x(self) -> Floats:
        """exp(H)"""
        return np.exp(self.entropy)

    def where(self, keep: Mask) -> Points:
        """The points where the mask `keep` says so."""
        return Points(self.steps[keep], self.entropy[keep], self.reward[keep])


@dataclass(frozen=True)
class Cleaned:
    """The points, and the rows left out by reason, each with the lines of the first few."""

    points: Points
    steps: Floats
    """Steps of all rows with a valid H, R evaluated there or not. Shape (m,), m >= n."""
    entropy: Floats
    """The H of those steps. Shape (m,)."""
    rows: NDArray[np.intp]
    """The table's row of each of those steps. Shape (m,)."""
    dropped: Mapping[str, int]
    first_lines: Mapping[str, tuple[int, ...]]
    """Reason -> up to FIRST_FEW line numbers."""


ANY = (-LARGEST, LARGEST)


def clean(
    table: Table, entropy: str, reward: str, within: tuple[float, float] | None = None
) -> Cleaned:
    """Pairs of H and R with a finite step, H in [0, 20] and a finite R; the last of a step wins.

    A null reward in an evaluation column is a step without evaluation, not damage. `within`: the
    lowest and the highest R there can be, where that was declared; a row beyond is out of range.
    """
    every, h, r = table.columns["step"], table.columns[entropy], table.columns[reward]
    reasons = _reasons(table, entropy, reward, within or ANY)
    valid = reasons == 0
    paired = last_of_each_step(every, valid)
    points = Points(every[paired], h[paired], r[paired])
    measured, steps, course = paired, points.steps, points.entropy
    unevaluated = reasons == REASONS.index(NO_EVALUATION)
    if unevaluated.any():
        measured = last_of_each_step(every, valid | unevaluated)
        steps, course = every[measured], h[measured]
    repeated = valid.copy()
    repeated[paired] = False
    reasons[repeated] = REASONS.index("duplicate_step")
    return Cleaned(points, steps, course, measured, *_counted(table, reasons))


def _reasons(table: Table, entropy: str, reward: str, within: tuple[float, float]) -> Reasons:
    reasons = np.zeros(len(table.lines), np.int8)
    absent = NO_EVALUATION if reward.startswith(EVALUATIONS) else "missing_reward"
    _mark(reasons, table.faults[reward], absent)
    values = table.columns[entropy]
    reasons[(values < 0) | (values > HIGHEST_ENTROPY_NATS)] = REASONS.index("out_of_range")
    for name, (least, most) in (("step", ANY), (reward, within)):
        column = table.columns[name]
        reasons[(column < least) | (column > most)] = REASONS.index("out_of_range")
    _mark(reasons, table.faults[entropy], "missing_entropy")
    _mark(reasons, table.faults["step"], "missing_step")
    return reasons


def _mark(reasons: Reasons, faults: Codes, absent: str) -> None:
    if not faults.any():
        return
    for code, fault in enumerate(FAULTS):
        if code:
            reasons[faults == code] = REASONS.index(absent if fault == "null" else fault)


def last_of_each_step(steps: Floats, valid: Mask) -> NDArray[np.intp]:
    """Row indices in order of their steps; of the valid rows of one step, the last."""
    rows = np.flatnonzero(valid)
    valid_steps = steps[rows]
    if (valid_steps[1:] > valid_steps[:-1]).all():
        return rows
    backwards = rows[::-1]
    _, first = np.unique(steps[backwards], return_index=True)
    return backwards[first]


def _counted(table: Table, reasons: Reasons) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Counts the rows left out for each reason, with the lines of the first few."""
    where = {reason: list(lines) for reason, lines in table.damage.items()}
    damaged = reasons[reasons > REASONS.index(NO_EVALUATION)]
    for code in dict.fromkeys(damaged.tolist()):
        where[REASONS[code]] = table.lines[reasons == code].tolist()
    first = {reason: tuple(lines[:FIRST_FEW]) for reason, lines in where.items()}
    return {reason: len(lines) for reason, lines in where.items()}, first
