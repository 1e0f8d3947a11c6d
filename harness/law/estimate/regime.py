"""The course of a run in numbers and a word: landmarks, gain of R, silent groups, regime."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.law.estimate import breaks, interval, numbers, spikes
from harness.law.estimate.breaks import Binned
from harness.law.estimate.onset import BinnedEntropy, settles
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import ColumnSeries
from harness.law.results import Interval, Onset

SHARES_PERCENT = (50, 20, 10, 5)
PLATEAU_F = 12.0
"""F of one knot in R against a straight line, deflated by autocorrelation."""
PLATEAU_SLOPE = 0.25
"""R has levelled off when it rises at most at this share of the rate it rose at before."""


DEAD = 0.05
"""Share of R's range, above the lowest it ever has, that a dead reward keeps to."""
ALIVE = 0.2
"""The same for what it had before: well above."""
FEWEST_DEAD, DEAD_SHARE = 8, 0.1
"""Rows, and share of all rows, that a reward must have been dead for at the end."""
DEATH_WINDOW = 5
STILLER = 0.7
"""Scatter from row to row of a dead reward, at most, as a share of what it was."""


def landmarks(
    run: BinnedEntropy | None,
    law_break: float | None,
    plateau: float | None,
    died: float | None = None,
) -> dict[str, float | None]:
    """headroom_P and entropy_P: the step from which no more than P% is left; None if none is.

    Headroom is exp(H) - 1, the reward still to be won under the law; law_break is the step at
    which the law ends, if it does; reward_plateau the one from which R rises no more; reward_died
    the one from which it stays at its lowest.
    """
    marks: dict[str, float | None] = {}
    for percent in SHARES_PERCENT:
        share = percent / 100
        marks[f"headroom_{percent}"] = settles(run.steps, run.headroom, share) if run else None
    for percent in SHARES_PERCENT:
        marks[f"entropy_{percent}"] = _entropy_below(run, percent / 100) if run else None
    return {**marks, "law_break": law_break, "reward_plateau": plateau, "reward_died": died}


def reward_plateau(points: Points, shape: Binned | None = None) -> float | None:
    """The knot of R in time after which it rises at no more than a quarter of its rate before.

    None where R does not bend so, or below 16 points. A reward that turns and falls has its
    plateau at the turn. It marks where R levels off, not why: read it beside the onset. `shape`:
    of the points, where it is known already.
    """
    if len(points) < FEWEST_POINTS:
        return None
    shape = shape or breaks.binned(spikes.calm(spikes.plain(points)))
    knot = shape.reward_knot
    before, after = knot.slopes
    levels_off = before > 0 and after <= PLATEAU_SLOPE * before
    if not levels_off or knot.f <= PLATEAU_F:
        return None
    return float(shape.steps[knot.at[0]])


def reward_died(points: Points) -> float | None:
    """The step from which R stays for good at the lowest level it ever has, with less noise.

    None where it does not, or was never well above it, or below 16 points. All limits are shares
    of R's own range: R and s R + c, s > 0, die at one step. A median of 5 rows forgives lone ones.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    padded = spikes.mirrored(points.reward, DEATH_WINDOW // 2)
    reward = numbers.running_median(padded, DEATH_WINDOW)
    floor, span = float(reward.min()), float(np.ptp(reward))
    alive = np.flatnonzero(reward > floor + DEAD * span)
    dead_from = int(alive[-1]) + 1 if len(alive) else 0
    if n - dead_from < max(FEWEST_DEAD, DEAD_SHARE * n):
        return None
    before = reward[:dead_from]
    if len(before) < 2 or numbers.median(before) <= floor + ALIVE * span:
        return None
    scatter = np.abs(np.diff(points.reward))
    stiller = numbers.median(scatter[dead_from:]) <= STILLER * numbers.median(scatter[:dead_from])
    return float(points.steps[dead_from]) if stiller else None


def ends(points: Points, shape: Binned | None = None) -> tuple[float | None, float | None]:
    """reward_plateau and reward_died."""
    return reward_plateau(points, shape), reward_died(points)


def _entropy_below(run: BinnedEntropy, share: float) -> float | None:
    return settles(run.steps, run.log_h, run.log_start + float(np.log(share)))


KEPT = 0.20
"""H that ends within this share of its start was kept."""
SILENT = 0.5
"""Above this share of groups without a signal, a run can starve."""
BY_ONSET = {"terminal_fall": "collapsed", "budget_spent": "spent"}


def gain(points: Points, exact_start: bool = False) -> Interval | None:
    """Mean reward of the last tenth minus that of the first, of three values at least, its 95%
    interval by AR(1) errors. None below 16 points.

    With `exact_start` minus the first value alone: that of the policy before its first update, on
    held-out users, which all runs from the same weights share. By the first tenth of its
    evaluations a run that learns fast has learnt, and would seem to have gained less.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    edge = max(3, n // 10)
    start = 1 if exact_start else edge
    value = numbers.mean(points.reward[-edge:]) - numbers.mean(points.reward[:start])
    noise = interval.wobble(points.reward)
    half = math.hypot(noise.half_width(edge), noise.half_width(start))
    return Interval(value, value - half, value + half)


def silent_share(shares: Sequence[ColumnSeries]) -> Interval | None:
    """Mean over the run of the share of groups without a signal, of the column where it is larger.

    Its 95% interval, within [0, 1], is the wider of AR(1) errors around a cubic and of means of
    blocks of time. None below 16 values.
    """
    valid = [s.values[(s.values >= 0) & (s.values <= 1)] for s in shares]
    long_enough = [values for values in valid if len(values) >= FEWEST_POINTS]
    if not long_enough:
        return None
    values = max(long_enough, key=lambda v: float(v.mean()))
    mean = float(values.mean())
    half = max(interval.wobble(values).half_width(len(values)), interval.batch_half_width(values))
    return Interval(mean, max(mean - half, 0.0), min(mean + half, 1.0))


def regime(
    run: BinnedEntropy | None, won: Interval | None, onset: Onset | None, silent: Interval | None
) -> str | None:
    """The first that fits of exploded, starved, collapsed, spent, learning, drifting.

    `silent` is the share of groups without a signal, None where the log does not hold it.
    Starved and learning ask for an interval on their side of the line. None where rows are too
    few.
    """
    if won is None or run is None:
        return None
    if onset is not None and onset.kind == "explosion":
        return "exploded"
    if silent is not None and silent.low > SILENT and won.low <= 0 and _kept(run):
        return "starved"
    if onset is not None:
        return BY_ONSET[onset.kind]
    return "learning" if won.low > 0 else "drifting"


def _kept(run: BinnedEntropy) -> bool:
    end = float(np.median(run.log_h[-max(1, len(run.log_h) // 10) :]))
    return abs(float(np.expm1(end - run.log_start))) <= KEPT
