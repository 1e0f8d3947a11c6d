"""What a run has shown so far, and the few numbers that the rule takes from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST_EVALUATIONS = 5
LEVEL = 3
"""The level is the mean of so many last evaluations."""
WINDOW = 1 / 3
"""The slope is that of the evaluations since this share of the steps so far."""
LAST_ROWS = 10
"""Entropy now is the mean of so many rows."""
MOST_BLOCKS = 25
"""A reward with a value at every step is averaged into at most so many blocks."""
OFTEN = 50
"""More values of the reward than these are averaged into blocks: they are no evaluations."""


@dataclass(frozen=True)
class Curve:
    """The rows so far. Steps ascend without repeats and are at least 1."""

    steps: Floats
    """Steps with a reward. Shape (n,)."""
    reward: Floats
    """Shape (n,)."""
    reward_se: Floats
    """Standard error of each, nan where it is not known. Shape (n,)."""
    entropy: Floats
    """H, nats, of the rows so far in the order of their steps. Shape (m,)."""


@dataclass(frozen=True)
class Reading:
    """A curve in numbers of the unit of its reward, but for `log_left` and `entropy_left`."""

    evaluations: int
    now: float
    """The newest reward."""
    level: float
    """Mean of the last rewards."""
    slope: float
    """Of a line in the logarithm of the step: reward per e-fold of the steps."""
    slope_se: float
    fallen: float
    """How far the level is below the best reward, at least 0."""
    noise: float
    """Standard deviation of a reward about its curve, from second differences of all but the
    first: `evaluations` less 3 of them."""
    room: float
    """From the level to the highest reward there can be; the width of the range where nobody says
    what that is."""
    log_left: float
    """Logarithm of the last step over this one."""
    entropy_left: float
    """H now as a share of H at the start, at most 1."""


def blocked(curve: Curve) -> Curve:
    """The curve itself, or the means of blocks of equal size if it has more than OFTEN rewards."""
    count = len(curve.steps)
    if count <= OFTEN:
        return curve
    size = -(-count // MOST_BLOCKS)
    first = count % size  # the oldest block may be short: the newest rows count most
    edges = np.unique(np.r_[0, np.arange(first, count, size)])
    lengths = np.diff(np.r_[edges, count])
    spread = np.add.reduceat(curve.reward**2, edges) / lengths
    means = np.add.reduceat(curve.reward, edges) / lengths
    error = np.sqrt(np.maximum(spread - means**2, 0.0) / np.maximum(lengths - 1, 1))
    last = np.r_[edges[1:], count] - 1
    return Curve(curve.steps[last], means, error, curve.entropy)


@dataclass(frozen=True)
class Unit:
    """What counts as much or little of a reward."""

    width: float = 1.0
    """Of the range it lies in."""
    highest: float | None = 1.0
    """None where nobody says."""

    @staticmethod
    def seen(curve: Curve) -> Unit:
        """That of a reward of which nobody says where it lies: the range it has shown."""
        return Unit(float(np.ptp(curve.reward)) if len(curve.reward) else 1.0, None)


def read(curve: Curve, last_step: float, unit: Unit) -> Reading | str:
    """The numbers of the rule; a sentence where there are too few rows for them."""
    curve = blocked(curve)
    count = len(curve.steps)
    if count < FEWEST_EVALUATIONS:
        return f"needs {FEWEST_EVALUATIONS} evaluations, has {count}"
    if not len(curve.entropy):
        return "needs the entropy of a step, has none"
    start_entropy = float(curve.entropy[0])
    entropy_now = float(curve.entropy[-LAST_ROWS:].mean())
    left = entropy_now / start_entropy if start_entropy > 0 else 0.0
    slope, error = _slope(curve)
    level = float(curve.reward[-LEVEL:].mean())
    now, best = float(curve.reward[-1]), float(curve.reward.max())
    return Reading(
        evaluations=count,
        now=now,
        level=level,
        slope=slope,
        slope_se=error,
        fallen=max(best - level, 0.0),
        noise=_noise(curve),
        room=unit.width if unit.highest is None else max(unit.highest - level, 0.0),
        log_left=max(float(np.log(last_step / curve.steps[-1])), 0.0),
        entropy_left=min(max(left, 0.0), 1.0),
    )


def _slope(curve: Curve) -> tuple[float, float]:
    """Slope and its standard error of a line in log step through the last evaluations."""
    recent = curve.steps >= WINDOW * curve.steps[-1]
    recent[-3:] = True
    x = np.log(curve.steps[recent])
    y = curve.reward[recent]
    about = x - x.mean()
    square = float(about @ about)
    slope = float(about @ y) / square
    off = y - y.mean() - slope * about
    return slope, math.sqrt(float(off @ off) / max(len(y) - 2, 1) / square)


def _noise(curve: Curve) -> float:
    """From second differences after the first evaluation, which a straight course leaves at 0."""
    bends = np.diff(curve.reward[1:], 2)
    return float(np.sqrt(np.mean(bends**2) / 6))
