"""How a run ended, in one word, and what it gained."""

from __future__ import annotations

import numpy as np
from scipy import stats

from harness.law import estimate
from harness.law.clean import Points
from harness.law.onset import Course
from harness.law.results import Floats, Interval, Onset

FEWEST_POINTS = 16
KEPT = 0.20
"""H that ends within this share of its start was kept."""
BY_ONSET = {"terminal_fall": "collapsed", "budget_spent": "spent"}


def gain(points: Points) -> Interval | None:
    """Mean reward of the last tenth minus that of the first, its 95% interval by AR(1) errors.

    None below 16 points.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    edge = max(3, n // 10)
    trend = _smooth(points.reward)
    left = points.reward - trend
    rho = estimate.lag1(left)
    tau = (1 + rho) / (1 - rho)
    sd = float(left.std(ddof=1))
    worth = max(edge / tau, 1.0)
    value = float(points.reward[-edge:].mean() - points.reward[:edge].mean())
    t = float(stats.t.ppf(0.975, max(n / tau - 2, 1)))
    half = t * sd * (2 / worth) ** 0.5
    return Interval(value, value - half, value + half)


def _smooth(values: Floats) -> Floats:
    """A cubic in time: the trend that the noise is measured around."""
    time = np.linspace(-1, 1, len(values))
    design = np.stack([np.ones_like(time), time, time**2, time**3], axis=1)
    fitted: Floats = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return fitted


def regime(
    run: Course | None, won: Interval | None, onset: Onset | None, silent_share: float | None
) -> str | None:
    """The first that fits of exploded, starved, collapsed, spent, learning, drifting.

    `silent_share` is the mean share of groups below the floor or without variance, None where
    the log does not hold it. None where rows are too few.
    """
    if won is None or run is None:
        return None
    if onset is not None and onset.kind == "explosion":
        return "exploded"
    if silent_share is not None and silent_share > 0.5 and won.low <= 0 and _kept(run):
        return "starved"
    if onset is not None:
        return BY_ONSET[onset.kind]
    return "learning" if won.low > 0 else "drifting"


def _kept(run: Course) -> bool:
    end = float(np.median(run.log_h[-max(1, len(run.log_h) // 10) :]))
    return abs(float(np.expm1(end - run.log_start))) <= KEPT
