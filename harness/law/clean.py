"""From a table to the points a law is fitted on: valid, sorted, one per step, the rest counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.law.reading import FAULTS, Codes, Table
from harness.law.results import Floats

Mask = NDArray[np.bool_]
Reasons = NDArray[np.object_]
NO_EVALUATION = "no_evaluation"
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

    def where(self, keep: Mask) -> Points:
        """The points where the mask `keep` says so."""
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
    valid = reasons == ""
    kept = _last_of_each_step(table.columns["step"], valid)
    reasons[valid & ~kept] = "duplicate_step"
    order = _by_step(table.columns["step"], kept)
    steps, h, r = (table.columns[name][order] for name in ("step", entropy, reward))
    return _counted(Points(steps, h, r), table, reasons)


def entropy_points(table: Table, entropy: str) -> tuple[Floats, Floats]:
    """Steps and H of every row that has them, whether or not it has a reward. Shapes (n,), (n,)."""
    steps, values = table.columns["step"], table.columns[entropy]
    valid = np.isfinite(steps) & (values >= 0) & (values <= HIGHEST_ENTROPY_NATS)
    order = _by_step(steps, _last_of_each_step(steps, valid))
    return steps[order], values[order]


def _reasons(table: Table, entropy: str, reward: str) -> Reasons:
    """Why a row is no point, "" where it is one; no_evaluation is not damage."""
    reasons = np.full(len(table.lines), "", dtype=object)
    absent = NO_EVALUATION if reward.startswith("eval/") else "missing_reward"
    _mark(reasons, table.faults[reward], absent)
    values = table.columns[entropy]
    reasons[(values < 0) | (values > HIGHEST_ENTROPY_NATS)] = "out_of_range"
    _mark(reasons, table.faults[entropy], "missing_entropy")
    _mark(reasons, table.faults["step"], "missing_step")
    return reasons


def _mark(reasons: Reasons, faults: Codes, absent: str) -> None:
    for code, fault in enumerate(FAULTS):
        if code:
            reasons[faults == code] = absent if fault == "null" else fault


def _last_of_each_step(steps: Floats, valid: Mask) -> Mask:
    kept = np.zeros(len(steps), bool)
    index = np.flatnonzero(valid)[::-1]
    _, first = np.unique(steps[index], return_index=True)
    kept[index[first]] = True
    return kept


def _by_step(steps: Floats, kept: Mask) -> NDArray[np.intp]:
    index = np.flatnonzero(kept)
    return index[np.argsort(steps[index], kind="stable")]


def _counted(points: Points, table: Table, reasons: Reasons) -> Cleaned:
    dropped = {reason: len(where) for reason, where in table.damage.items()}
    first = {reason: where[0] for reason, where in table.damage.items()}
    for reason in dict.fromkeys(reasons[(reasons != "") & (reasons != NO_EVALUATION)]):
        where = np.flatnonzero(reasons == reason)
        dropped[reason] = len(where)
        first[reason] = int(table.lines[where[0]])
    return Cleaned(points, dropped, first)
