"""Choose the common scale of compared groups: one reward column and, for a, one range of H.

If the law is only approximately right, a depends on the range of H, and noise of H shrinks it more
the less H moves. So a difference of a over different ranges is no evidence on difficulty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.law.compare.groups import Member
from harness.law.compare.pairs import ComparedGroup, GroupPair, axes, moves_scale
from harness.law.compare.replicates import COMMON
from harness.law.estimate import bins, identifiability
from harness.law.estimate.identifiability import LawFit
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import EVALUATION, TRAINING
from harness.law.results import Floats, Interval
from harness.law.settings import evaluated_every, setting

OWN = (EVALUATION, TRAINING)
"""Columns that runs may have been fitted on, in order of preference."""
APART = "different scales: each on its own users' reward"


def column_for(sides: Sequence[ComparedGroup]) -> str | None:
    """Return the reward column to compare on: the runs' own if it is one scale, else one of COMMON.

    None if each of these has too few points in some run.
    """
    members = [member for side in sides for member in side.members]
    headline = own_column(sides)
    differing_axes = [axes(sides[0], side) for side in sides[1:]]
    if headline and not any(moves_scale(group_axes, headline) for group_axes in differing_axes):
        return headline
    for column in COMMON:
        enough = (_points(member, column) >= FEWEST_POINTS for member in members)
        if all(enough) and not any(
            moves_scale(group_axes, column) for group_axes in differing_axes
        ):
            return column
    return None


def own_column(sides: Sequence[ComparedGroup]) -> str | None:
    """Return the column of the groups' own means, or if these differ, one with enough points in
    every run. None if there is none.
    """
    members = [member for side in sides for member in side.members]
    columns = {member.column for member in members}
    if len(columns) == 1:
        return columns.pop() or None
    shared = [
        column
        for column in OWN
        if all(_points(member, column) >= FEWEST_POINTS for member in members)
    ]
    return shared[0] if members and shared else None


def why_none(pair: GroupPair) -> str:
    """Explain why two groups have no common column, and what would give one enough points."""
    members = [member for side in pair.sides for member in side.members]
    common = [column for column in COMMON if not moves_scale(pair.axes, column)]
    if not common:
        return f"{APART}, for every evaluation"
    fewest = {column: min(_points(member, column) for member in members) for column in common}
    column = max(common, key=lambda name: fewest[name])
    if not fewest[column]:
        return f"{APART}, and none of {', '.join(common)} is in every run"
    shortage = (
        f"{column} is a common scale, but has {fewest[column]} of {FEWEST_POINTS} points needed"
    )
    eval_every = _eval_every_needed(min(members, key=lambda member: _points(member, column)))
    return f"{APART}; {shortage}" + (f": add trainer.eval_every={eval_every}" if eval_every else "")


def _points(member: Member, column: str) -> int:
    return len(member.replicate.points.get(column, ()))


def _eval_every_needed(member: Member) -> int | None:
    """Return the trainer.eval_every that gives a run FEWEST_POINTS; None if its own does."""
    config = member.identity.config
    steps, eval_every = setting(config, "trainer", "steps"), evaluated_every(config)
    if not isinstance(steps, int) or eval_every is None:
        return None
    needed = steps // FEWEST_POINTS
    return needed if needed > 0 and (not eval_every or needed < eval_every) else None


Range = tuple[float, float]
"""Lowest and highest H, nats."""
SMALLEST_WINDOW = 3


def shared_range(runs: Sequence[Points]) -> Range | None:
    """Return the range of smoothed H that all runs pass through; None if there is none."""
    courses = [smooth(points.entropy) for points in runs]
    low = max(float(h.min()) for h in courses)
    high = min(float(h.max()) for h in courses)
    return (low, high) if low < high else None


def within_range(points: Points, within: Range) -> Points:
    """Return the points of the steps at which smoothed H lies within the range."""
    h = smooth(points.entropy)
    return points.where((h >= within[0]) & (h <= within[1]))


def slope(points: Points) -> Interval | None:
    """Return a of the points within a range of H.

    None if there are too few, or if exp(H) moves no more than its noise. Runs with a wide interval
    are kept, because leaving them out would select large a.
    """
    if len(points) < FEWEST_POINTS:
        return None
    fitted = identifiability.fit(points)
    return fitted.spread.a if fitted.spread is not None and _is_usable(fitted) else None


def smooth(entropy: Floats) -> Floats:
    """Return H averaged over a window of steps, so that its noise does not select the points."""
    n = len(entropy)
    window = min(max(SMALLEST_WINDOW, n // len(bins.for_fit(n))), n)
    kernel = np.ones(window)
    return np.convolve(entropy, kernel, "same") / np.convolve(np.ones(n), kernel, "same")


def _is_usable(fitted: LawFit) -> bool:
    return identifiability.has_enough_points(fitted) and identifiability.entropy_moves(fitted)
