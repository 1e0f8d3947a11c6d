"""Describe the course of a run: landmarks, gain of R, share of silent groups, regime."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.law.estimate import breaks, interval, numbers, spikes
from harness.law.estimate.breaks import BinnedRun
from harness.law.estimate.onset import BinnedEntropy, settling_step
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import ColumnSeries
from harness.law.results import Interval, Onset

SHARES_PERCENT = (50, 20, 10, 5)
PLATEAU_F = 12.0
"""Smallest F of one knot in R against a straight line, deflated by autocorrelation."""
PLATEAU_SLOPE = 0.25
"""R has levelled off if its slope is at most this share of the slope before."""


DEAD = 0.05
"""A dead reward stays within this share of R's range above its minimum."""
ALIVE = 0.2
"""Before it died, the median of R must exceed its minimum by this share of its range."""
FEWEST_DEAD, DEAD_SHARE = 8, 0.1
"""Smallest number of rows, and share of all rows, that a reward must be dead at the end."""
DEATH_WINDOW = 5
STILLER = 0.7
"""Largest row-to-row scatter of a dead reward, as a share of the scatter before."""


def landmarks(
    run: BinnedEntropy | None,
    law_break: float | None,
    plateau: float | None,
    died: float | None = None,
) -> dict[str, float | None]:
    """Return landmark -> step; None if the run does not reach it.

    headroom_P and entropy_P: from there on at most P% is left, where headroom is exp(H) - 1, the
    reward still to be gained under the law. law_break: the law breaks. reward_plateau: R stops
    rising. reward_died: R stays at its minimum.
    """
    marks: dict[str, float | None] = {}
    for percent in SHARES_PERCENT:
        share = percent / 100
        marks[f"headroom_{percent}"] = (
            settling_step(run.steps, run.headroom, share) if run else None
        )
    for percent in SHARES_PERCENT:
        marks[f"entropy_{percent}"] = _entropy_below(run, percent / 100) if run else None
    return {**marks, "law_break": law_break, "reward_plateau": plateau, "reward_died": died}


def reward_plateau(points: Points, shape: BinnedRun | None = None) -> float | None:
    """Return the step of the knot after which R rises at no more than a quarter of its rate before.

    None if there is no such knot, or below 16 points. If R turns and falls, the plateau is at the
    turn. It says where R levels off but not why, so compare it with the onset. Pass `shape`, the
    binned points, if it is already computed.
    """
    if len(points) < FEWEST_POINTS:
        return None
    shape = shape or breaks.bin_run(spikes.clip_spikes(spikes.remove_glitches(points)))
    knot = shape.reward_knot
    before, after = knot.slopes
    levels_off = before > 0 and after <= PLATEAU_SLOPE * before
    if not levels_off or knot.f <= PLATEAU_F:
        return None
    return float(shape.steps[knot.at[0]])


def reward_died(points: Points) -> float | None:
    """Return the step from which R stays at its lowest level to the end, with less noise.

    None if it does not, if it was never well above that level, or below 16 points. All limits are
    shares of R's own range, so R and s R + c, s > 0, die at the same step. A running median of 5
    rows tolerates single outliers.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    padded = spikes.mirror_ends(points.reward, DEATH_WINDOW // 2)
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


def ends(points: Points, shape: BinnedRun | None = None) -> tuple[float | None, float | None]:
    """Return reward_plateau and reward_died."""
    return reward_plateau(points, shape), reward_died(points)


def _entropy_below(run: BinnedEntropy, share: float) -> float | None:
    return settling_step(run.steps, run.log_h, run.log_start + float(np.log(share)))


KEPT = 0.20
"""H was kept if it ends within this share of its start."""
SILENT = 0.5
"""Share of groups without a signal above which a run can be starved."""
BY_ONSET = {"terminal_fall": "collapsed", "budget_spent": "spent"}


def gain(points: Points, exact_start: bool = False) -> Interval | None:
    """Return the mean reward of the last tenth (at least three values) minus that of the first.

    The 95% interval uses AR(1) errors. None below 16 points. With `exact_start` only the first
    value is subtracted: the reward on held-out users before the first update, which all runs from
    the same weights share. A run that learns fast has already learnt within the first tenth of its
    evaluations, and their mean would understate its gain.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    edge = max(3, n // 10)
    start = 1 if exact_start else edge
    value = numbers.mean(points.reward[-edge:]) - numbers.mean(points.reward[:start])
    noise = interval.measure_noise(points.reward)
    half = math.hypot(noise.half_width(edge), noise.half_width(start))
    return Interval(value, value - half, value + half)


def silent_share(shares: Sequence[ColumnSeries]) -> Interval | None:
    """Return the mean share of groups without a signal, of the column with the larger mean.

    The 95% interval, clipped to [0, 1], is the wider of AR(1) errors around a cubic and of block
    means. None below 16 values.
    """
    valid = [s.values[(s.values >= 0) & (s.values <= 1)] for s in shares]
    long_enough = [values for values in valid if len(values) >= FEWEST_POINTS]
    if not long_enough:
        return None
    values = max(long_enough, key=lambda v: float(v.mean()))
    mean = float(values.mean())
    half = max(
        interval.measure_noise(values).half_width(len(values)), interval.batch_half_width(values)
    )
    return Interval(mean, max(mean - half, 0.0), min(mean + half, 1.0))


def regime(
    run: BinnedEntropy | None,
    reward_gain: Interval | None,
    onset: Onset | None,
    silent: Interval | None,
) -> str | None:
    """Return the first that applies of exploded, starved, collapsed, spent, learning, drifting.

    `silent` is the share of groups without a signal (None if not logged). For starved the interval
    of `silent`, and for learning that of `reward_gain`, must lie above the limit. None if there are
    too few rows.
    """
    if reward_gain is None or run is None:
        return None
    if onset is not None and onset.kind == "explosion":
        return "exploded"
    if silent is not None and silent.low > SILENT and reward_gain.low <= 0 and _keeps_entropy(run):
        return "starved"
    if onset is not None:
        return BY_ONSET[onset.kind]
    return "learning" if reward_gain.low > 0 else "drifting"


def _keeps_entropy(run: BinnedEntropy) -> bool:
    end = float(np.median(run.log_h[-max(1, len(run.log_h) // 10) :]))
    return abs(float(np.expm1(end - run.log_start))) <= KEPT
