"""Clean a table: select the valid points of a law, one per step, and count the rows left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.law.io.importers.aliases import EVALUATIONS
from harness.law.io.table import FAULTS, Codes, LogTable
from harness.law.results import Floats

Mask = NDArray[np.bool_]
NO_EVALUATION = "no_evaluation"
REASONS = (
    "", NO_EVALUATION, "missing_reward", "missing_entropy", "missing_step", "nan", "infinite",
    "wrong_type", "out_of_range", "duplicate_step",
)  # fmt: skip
"""Reasons why a row is no point; "" for a valid point. no_evaluation is not damage."""
Reasons = NDArray[np.int8]
"""Index in REASONS of each row's reason."""
LARGEST = 1e100
"""Largest step or reward, so that squares do not overflow."""
FIRST_FEW = 3
"""Number of rows per reason that are reported by file and line."""
HIGHEST_ENTROPY_NATS = 20.0
"""Largest valid H. It exceeds the entropy of any vocabulary in use (it is log of 485 million)."""
FEWEST_POINTS = 16
"""Smallest number of points for a verdict, an onset or a comparison."""


@dataclass(frozen=True)
class Points:
    """H and R of a run at ascending steps without repeats. All arrays have shape (n,)."""

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
        """Return the points selected by the mask `keep`."""
        return Points(self.steps[keep], self.entropy[keep], self.reward[keep])


@dataclass(frozen=True)
class Cleaned:
    """The valid points, and the rows left out by reason, with the lines of the first few."""

    points: Points
    steps: Floats
    """All steps with a valid H, with or without an evaluation of R. Shape (m,), m >= n."""
    entropy: Floats
    """H at `steps`. Shape (m,)."""
    rows: NDArray[np.intp]
    """Row index in the table of each of `steps`. Shape (m,)."""
    dropped: Mapping[str, int]
    """Reason -> number of rows left out."""
    first_lines: Mapping[str, tuple[int, ...]]
    """Reason -> up to FIRST_FEW line numbers."""


ANY = (-LARGEST, LARGEST)


def clean(
    table: LogTable, entropy: str, reward: str, reward_range: tuple[float, float] | None = None
) -> Cleaned:
    """Return the rows with a finite step, H in [0, 20] and a finite R; the last row of a step wins.

    A null reward in an evaluation column is a step without evaluation, not damage.
    `reward_range`: the declared lowest and highest possible R; rows outside are out of range.
    """
    all_steps, h, r = table.columns["step"], table.columns[entropy], table.columns[reward]
    reasons = _reasons(table, entropy, reward, reward_range or ANY)
    valid = reasons == 0
    paired = last_of_each_step(all_steps, valid)
    points = Points(all_steps[paired], h[paired], r[paired])
    rows, steps, course = paired, points.steps, points.entropy
    unevaluated = reasons == REASONS.index(NO_EVALUATION)
    if unevaluated.any():
        rows = last_of_each_step(all_steps, valid | unevaluated)
        steps, course = all_steps[rows], h[rows]
    repeated = valid.copy()
    repeated[paired] = False
    reasons[repeated] = REASONS.index("duplicate_step")
    return Cleaned(points, steps, course, rows, *_count_by_reason(table, reasons))


def _reasons(
    table: LogTable, entropy: str, reward: str, reward_range: tuple[float, float]
) -> Reasons:
    reasons = np.zeros(len(table.lines), np.int8)
    absent = NO_EVALUATION if reward.startswith(EVALUATIONS) else "missing_reward"
    _mark(reasons, table.faults[reward], absent)
    values = table.columns[entropy]
    reasons[(values < 0) | (values > HIGHEST_ENTROPY_NATS)] = REASONS.index("out_of_range")
    for name, (lowest, highest) in (("step", ANY), (reward, reward_range)):
        column = table.columns[name]
        reasons[(column < lowest) | (column > highest)] = REASONS.index("out_of_range")
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
    """Return the index of the last valid row of each step, in order of steps."""
    rows = np.flatnonzero(valid)
    valid_steps = steps[rows]
    if (valid_steps[1:] > valid_steps[:-1]).all():
        return rows
    backwards = rows[::-1]
    _, first = np.unique(steps[backwards], return_index=True)
    return backwards[first]


def _count_by_reason(
    table: LogTable, reasons: Reasons
) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Count the rows left out for each reason, with the lines of the first few."""
    by_reason = {reason: list(lines) for reason, lines in table.damage.items()}
    damaged = reasons[reasons > REASONS.index(NO_EVALUATION)]
    for code in dict.fromkeys(damaged.tolist()):
        by_reason[REASONS[code]] = table.lines[reasons == code].tolist()
    first = {reason: tuple(lines[:FIRST_FEW]) for reason, lines in by_reason.items()}
    return {reason: len(lines) for reason, lines in by_reason.items()}, first
