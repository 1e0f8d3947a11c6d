"""Test the law out of time, and forecast the reward at the end of a run.

The future of H is unknown: the interval of a forecast covers an H that is spent by the end and an
H that rises as far as its past moves make likely. Time is 0 at the first step and 1 at the last
known step. H is capped at the highest valid value of a row.
"""

from __future__ import annotations

import math

import numpy as np

from harness.law.estimate import (
    bins,
    estimate,
    identifiability,
    interval,
    numbers,
    onset,
)
from harness.law.estimate.identifiability import LawFit
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import FEWEST_POINTS, HIGHEST_ENTROPY_NATS, Cleaned, Points
from harness.law.result_parts import Forecast
from harness.law.results import Floats, Interval

FEWEST_FITTED = 8
FEWEST_BINS_AHEAD = 4
LAST_OF_FITTED = 0.1
"""Share of the first part, at its end, whose mean reward is used as the last value."""


def out_of_time(x: Floats, reward: Floats) -> float | None:
    """Return 1 - squared error of the law / of the last value, given x = exp(H) of later steps.

    It is the better of two splits: the middle of the run, and the point at which x completed half
    of its movement, because after an early fall of H the second half has nothing to predict. Both
    arrays are without spikes, shape (n,). None below 16 points or if x or R does not vary.
    """
    if len(x) < FEWEST_POINTS:
        return None
    half = len(x) // 2
    early = max(FEWEST_FITTED, min(_half_moved(x), half))
    skills = [_skill(x, reward, split) for split in sorted({early, half})]
    return max((skill for skill in skills if skill is not None), default=None)


def _half_moved(x: Floats) -> int:
    """Return the number of points in which x, in time bins, completes half of its movement."""
    binned = bins.for_fit(len(x))
    movement = np.cumsum(np.abs(np.diff(binned.means(x))))
    return int(binned.starts[np.argmax(movement >= movement[-1] / 2) + 1])


def _skill(x: Floats, reward: Floats, split: int) -> float | None:
    """Compute the skill on time-binned means, so that noise of single H is no error of the law."""
    line = estimate.through(x[:split], reward[:split])
    if line is None:
        return None
    remaining = len(x) - split
    bin_count = max(FEWEST_BINS_AHEAD, len(bins.for_fit(len(x))) * remaining // len(x))
    binned = bins.equal_bins(remaining, bin_count)
    truth = binned.means(reward[split:])
    predicted = line.b - line.a * binned.means(x[split:])
    last = numbers.mean(reward[split - max(1, round(LAST_OF_FITTED * split)) : split])
    baseline_error = float(((truth - last) ** 2).sum())
    return (
        1 - float(((truth - predicted) ** 2).sum()) / baseline_error if baseline_error > 0 else None
    )


MOVES = 8
"""Number of parts of the known time. Past moves of H are differences of their medians."""
WIDEST = 3.0
"""An interval wider than this many times the movement of R by the law is uninformative, and is not
reported."""


def log_linear(time: Floats, log_h: Floats, target_time: float) -> float:
    """Extrapolate a line through log H to time `at` and return H; arrays of shape (K,)."""
    centred = time - time.mean()
    slope = (centred @ log_h) / (centred @ centred)
    return _entropy(float(log_h.mean() + (target_time - time.mean()) * slope))


def highest(time: Floats, log_h: Floats, target_time: float) -> float:
    """Return the upper limit of H at time `at` from its past moves; shape (K,), K >= 16.

    The moves are differences between eighths of the known time, detrended by a line, so that a
    steady or slowing fall adds no spread. They are extrapolated as a random walk.
    """
    levels = np.array([np.median(part) for part in np.array_split(log_h, MOVES)])
    moves = np.diff(levels)
    position = np.arange(len(moves)) - (len(moves) - 1) / 2
    trend = moves.mean() + position * (position @ moves) / (position @ position)
    spread = math.sqrt(float(((moves - trend) ** 2).sum()) / (len(moves) - 2))
    moves_ahead = MOVES * (target_time - time[-1]) / (time[-1] - time[0])
    margin = numbers.t_quantile(0.975, len(moves) - 2) * spread
    return _entropy(float(levels[-1]) + margin * math.sqrt(max(moves_ahead, 0.0) + 1))


def _entropy(log_h: float) -> float:
    return math.exp(min(log_h, math.log(HIGHEST_ENTROPY_NATS)))


END = 0.05
"""Share of the run, at its end, whose mean reward is forecast."""
NORMAL_95 = 1.96


def forecast(cleaned: Cleaned, share: float) -> Forecast:
    """Forecast the reward at the end of a run from its first `share`, and compare it with R."""
    points, steps = cleaned.points, cleaned.steps
    first, last = float(steps[0]), float(steps[-1])
    cut = first + share * (last - first)
    before_cut = steps <= cut
    early = points.where(points.steps <= cut)
    end = points.where(points.steps > max(cut, last - END * (last - first)))
    fitted = identifiability.fit(early)
    course = onset.bin_entropy(steps[before_cut], cleaned.entropy[before_cut])
    predicted = _predict(fitted, course, end) if course is not None else None
    why = _why_no_interval(fitted, predicted)
    last_value = float(early.reward[-_last_count(len(early)) :].mean()) if len(early) else None
    truth = float(end.reward.mean()) if len(end) else None
    return Forecast(
        value=predicted.value if predicted else None,
        low=predicted.low if predicted and why is None else None,
        high=predicted.high if predicted and why is None else None,
        from_step=cut,
        identified=identifiability.judge_identifiability(fitted).a,
        last_value=last_value,
        truth=truth,
        error=predicted.value - truth if predicted and truth is not None else None,
        last_value_error=last_value - truth
        if last_value is not None and truth is not None
        else None,
        why=why,
    )


def _last_count(n: int) -> int:
    return max(1, round(END * n))


def _why_no_interval(fitted: LawFit, predicted: Interval | None) -> str | None:
    """Return one of result_parts.NO_FORECAST; None if there is an interval."""
    if predicted is None or fitted.line is None:
        return "no_fit"
    if not identifiability.judge_identifiability(fitted).a:
        return "a_not_identified"
    movement = abs(fitted.line.a) * float(np.ptp(fitted.line.x))
    return "entropy_unpredictable" if predicted.high - predicted.low > WIDEST * movement else None


def _predict(fitted: LawFit, course: BinnedEntropy, end: Points) -> Interval | None:
    """Predict the mean reward of the points `end` by the law, with log H on its past line.

    The 95% interval covers the reward of an H that rises as far as its past moves allow and that
    of a spent H, because past H never rules out a collapse. It includes the uncertainty of the law
    and the noise of the mean.
    """
    line, spread = fitted.line, fitted.spread
    if line is None or spread is None or not len(end):
        return None
    first, last = course.steps[0], course.steps[-1]
    time = (course.steps - first) / (last - first)
    target_time = float((end.steps.mean() - first) / (last - first))
    likely = log_linear(time, course.log_h, target_time)
    x = np.exp(np.array([likely, 0.0, max(highest(time, course.log_h, target_time), likely)]))
    law_half = interval.band(spread.a, spread.b, spread.ceiling, x)
    half = np.hypot(law_half, _noise(line.residuals, len(end)))
    reward = line.b - line.a * x
    return Interval(float(reward[0]), float((reward - half).min()), float((reward + half).max()))


def _noise(residuals: Floats, points: int) -> float:
    """Return the 95% half-width of the mean of `points` values with noise like `residuals`."""
    rho = estimate.lag1(residuals)
    n_eff = max(points * (1 - rho) / (1 + rho), 1.0)
    return NORMAL_95 * float(residuals.std()) / math.sqrt(n_eff)
