"""Represent the rows of a run so far, and compute the numbers that the rule uses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST_EVALUATIONS = 5
LEVEL = 3
"""Number of last evaluations whose mean is the level."""
WINDOW = 1 / 3
"""The slope is fitted to the evaluations from this share of the steps so far on."""
LAST_ROWS = 10
"""Number of last rows whose mean is the current entropy."""
MOST_BLOCKS = 25
"""Largest number of blocks into which a reward with many values is averaged."""
OFTEN = 50
"""Largest number of rewards that are used as evaluations. More values are averaged into blocks."""


@dataclass(frozen=True)
class RewardCurve:
    """The rows so far. Steps ascend without repeats and are at least 1."""

    steps: Floats
    """Steps with a reward. Shape (n,)."""
    reward: Floats
    """The reward at `steps`. Shape (n,)."""
    entropy: Floats
    """H, nats, of the rows so far in the order of their steps. Shape (m,)."""


@dataclass(frozen=True)
class CurveStatistics:
    """The numbers of a curve, in the unit of its reward except `log_left` and `entropy_left`."""

    evaluations: int
    now: float
    """The newest reward."""
    level: float
    """Mean of the last LEVEL rewards."""
    slope: float
    """Slope of a line in the logarithm of the step: reward per e-fold of the steps."""
    slope_se: float
    fallen: float
    """Distance of the level below the best reward, at least 0."""
    noise: float
    """Standard deviation of a reward around its curve, from the (evaluations - 3) second
    differences without the first evaluation."""
    room: float
    """Distance from the level to the highest possible reward, or the width of the reward's range if
    the highest is not known."""
    log_left: float
    """log(last planned step / current step)."""
    entropy_left: float
    """H now as a share of H at the start, at most 1."""


def average_blocks(curve: RewardCurve) -> RewardCurve:
    """Return the curve, averaged in blocks of equal size if it has more than OFTEN rewards."""
    count = len(curve.steps)
    if count <= OFTEN:
        return curve
    size = -(-count // MOST_BLOCKS)
    first = count % size  # the oldest block may be short: the newest rows count most
    edges = np.unique(np.r_[0, np.arange(first, count, size)])
    lengths = np.diff(np.r_[edges, count])
    means = np.add.reduceat(curve.reward, edges) / lengths
    last = np.r_[edges[1:], count] - 1
    return RewardCurve(curve.steps[last], means, curve.entropy)


@dataclass(frozen=True)
class RewardRange:
    """The range of a reward, relative to which its changes are judged."""

    width: float = 1.0
    """The width of the range."""
    highest: float | None = 1.0
    """The highest possible reward; None if it is not known."""

    @staticmethod
    def observed(curve: RewardCurve) -> RewardRange:
        """Return the observed range, for a reward whose range is not known."""
        return RewardRange(float(np.ptp(curve.reward)) if len(curve.reward) else 1.0, None)


def summarise(
    curve: RewardCurve, last_step: float, reward_range: RewardRange
) -> CurveStatistics | str:
    """Return the numbers that the rule uses, or a sentence if there are too few rows.

    `last_step`: the last planned step.
    """
    curve = average_blocks(curve)
    count = len(curve.steps)
    if count < FEWEST_EVALUATIONS:
        return f"needs {FEWEST_EVALUATIONS} evaluations, has {count}"
    if not len(curve.entropy):
        return "needs the entropy of a step, has none"
    start_entropy = float(curve.entropy[0])
    entropy_now = float(curve.entropy[-LAST_ROWS:].mean())
    entropy_share = entropy_now / start_entropy if start_entropy > 0 else 0.0
    slope, error = _slope(curve)
    level = float(curve.reward[-LEVEL:].mean())
    highest = reward_range.highest
    now, best = float(curve.reward[-1]), float(curve.reward.max())
    return CurveStatistics(
        evaluations=count,
        now=now,
        level=level,
        slope=slope,
        slope_se=error,
        fallen=max(best - level, 0.0),
        noise=_noise(curve),
        room=reward_range.width if highest is None else max(highest - level, 0.0),
        log_left=max(float(np.log(last_step / curve.steps[-1])), 0.0),
        entropy_left=min(max(entropy_share, 0.0), 1.0),
    )


def _slope(curve: RewardCurve) -> tuple[float, float]:
    """Return slope and standard error of a line in log(step) through the last evaluations."""
    recent = curve.steps >= WINDOW * curve.steps[-1]
    recent[-3:] = True
    x = np.log(curve.steps[recent])
    y = curve.reward[recent]
    deviations = x - x.mean()
    square = float(deviations @ deviations)
    slope = float(deviations @ y) / square
    residuals = y - y.mean() - slope * deviations
    return slope, math.sqrt(float(residuals @ residuals) / max(len(y) - 2, 1) / square)


def _noise(curve: RewardCurve) -> float:
    """Estimate the noise from second differences, which are 0 on a straight line.

    The first evaluation is left out.
    """
    differences = np.diff(curve.reward[1:], 2)
    return float(np.sqrt(np.mean(differences**2) / 6))
