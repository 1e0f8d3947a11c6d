"""From a table to the points a law is fitted on: valid, sorted, one per step, the rest counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.law.reading import Table
from harness.law.results import Floats

HIGHEST_ENTROPY_NATS = 20.0
"""Above the entropy of any vocabulary in use (log of 485 million): a mistake, not a measurement."""


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

    def where(self, keep: np.ndarray) -> Points:
        """The points where the mask or index `keep` says so."""
        return Points(self.steps[keep], self.entropy[keep], self.reward[keep])


@dataclass(frozen=True)
class Cleaned:
    """The points, and the rows left out by reason, each with the line of the first."""

    points: Points
    dropped: Mapping[str, int]
    first_line: Mapping[str, int]


def clean(table: Table, entropy: str, reward: str) -> Cleaned:
    """Pairs of H and R with a finite step, H in [0, 20] and a finite R; the last of a step wins.

    A null reward in an evaluation column is a step without evaluation, not damage.
    """
    reasons = _reasons(table, entropy, reward)
    valid = np.array([reason is None for reason in reasons], bool)
    kept = _last_of_each_step(table.columns["step"], valid)
    for index in map(int, np.flatnonzero(valid & ~kept)):
        reasons[index] = "duplicate_step"
    order = np.flatnonzero(kept)
    order = order[np.argsort(table.columns["step"][order], kind="stable")]
    points = Points(
        table.columns["step"][order], table.columns[entropy][order], table.columns[reward][order]
    )
    return _counted(points, table, reasons)


def entropy_points(table: Table, entropy: str) -> tuple[Floats, Floats]:
    """Steps and H of every row that has them, whether or not it has a reward. Shapes (n,), (n,)."""
    steps, values = table.columns["step"], table.columns[entropy]
    valid = np.isfinite(steps) & (values >= 0) & (values <= HIGHEST_ENTROPY_NATS)
    order = np.flatnonzero(_last_of_each_step(steps, valid))
    order = order[np.argsort(steps[order], kind="stable")]
    return steps[order], values[order]


def _reasons(table: Table, entropy: str, reward: str) -> list[str | None]:
    """Why a row is no point, or None; "no_evaluation" is not damage."""
    reasons: list[str | None] = [None] * len(table.lines)
    absent = "no_evaluation" if reward.startswith("eval/") else "missing_reward"
    for index, fault in table.faults[reward].items():
        reasons[index] = absent if fault == "null" else fault
    values = table.columns[entropy]
    for index in map(int, np.flatnonzero((values < 0) | (values > HIGHEST_ENTROPY_NATS))):
        reasons[index] = "out_of_range"
    for column, role in ((entropy, "entropy"), ("step", "step")):
        for index, fault in table.faults[column].items():
            reasons[index] = f"missing_{role}" if fault == "null" else fault
    return reasons


def _last_of_each_step(steps: Floats, valid: np.ndarray) -> np.ndarray:
    kept = np.zeros(len(steps), bool)
    index = np.flatnonzero(valid)[::-1]
    _, first = np.unique(steps[index], return_index=True)
    kept[index[first]] = True
    return kept


def _counted(points: Points, table: Table, reasons: list[str | None]) -> Cleaned:
    dropped = {reason: len(where) for reason, where in table.damage.items()}
    first = {reason: where[0] for reason, where in table.damage.items()}
    for line, reason in zip(table.lines, reasons, strict=True):
        if reason is not None and reason != "no_evaluation":
            dropped[reason] = dropped.get(reason, 0) + 1
            first.setdefault(reason, int(line))
    return Cleaned(points, dropped, first)
