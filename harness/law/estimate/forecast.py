"""The reward at the end of a run, told only its first part: what the law is worth ahead of time."""

from __future__ import annotations

import math

import numpy as np

from harness.law.estimate import band, estimate, extrapolation, identifiability, onset
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import Course
from harness.law.io.clean import Cleaned, Points
from harness.law.results import Floats, Interval

END = 0.05
"""Share of the run, at its end, whose mean reward is predicted."""
NORMAL_95 = 1.96


def forecast(cleaned: Cleaned, share: float) -> dict[str, float | bool | None]:
    """What the first `share` of the run says of its end, and what the end was.

    value, low and high (95%, if the law continues) are None where no law or no course of H can
    be computed; `identified` says whether a was, without which they are worth nothing.
    """
    points, steps = cleaned.points, cleaned.steps
    first, last = float(steps[0]), float(steps[-1])
    cut = first + share * (last - first)
    known = steps <= cut
    early = points.where(points.steps <= cut)
    end = points.where(points.steps > max(cut, last - END * (last - first)))
    fitted = identifiability.fit(early)
    course = onset.course(steps[known], cleaned.entropy[known])
    predicted = _predicted(fitted, course, end) if course is not None else None
    return {
        "value": predicted.value if predicted else None,
        "low": predicted.low if predicted else None,
        "high": predicted.high if predicted else None,
        "from_step": cut,
        "identified": identifiability.identified(fitted)["a"],
        **_compared(predicted, early, end),
    }


def _compared(predicted: Interval | None, early: Points, end: Points) -> dict[str, float | None]:
    """What came, and how far the forecast and the last known value are from it."""
    last = float(early.reward[-_last(len(early)) :].mean()) if len(early) else None
    truth = float(end.reward.mean()) if len(end) else None
    return {
        "last_value": last,
        "truth": truth,
        "error": predicted.value - truth if predicted and truth is not None else None,
        "last_value_error": last - truth if last is not None and truth is not None else None,
    }


def _last(n: int) -> int:
    return max(1, round(END * n))


def _predicted(fitted: Fitted, course: Course, end: Points) -> Interval | None:
    """The mean reward of the points `end` by the law.

    Its 95% interval reaches from the guess of H that gives the least reward to the one that
    gives the most, with the law's own uncertainty and the noise of such a mean beyond both.
    """
    line, spread = fitted.line, fitted.spread
    if line is None or spread is None or not len(end):
        return None
    first, last = course.steps[0], course.steps[-1]
    time = (course.steps - first) / (last - first)
    at = float((end.steps.mean() - first) / (last - first))
    guessed = extrapolation.guesses(time, course.log_h, at)
    x = np.exp(np.array(list(guessed.values())))
    sure = band.half_widths(spread.a, spread.b, spread.ceiling, x)
    half = np.hypot(sure, _noise(line.residuals, len(end)))
    reward = line.b - line.a * x
    value = reward[list(guessed).index(extrapolation.LOG_LINEAR)]
    return Interval(float(value), float((reward - half).min()), float((reward + half).max()))


def _noise(residuals: Floats, points: int) -> float:
    """95% half-width of a mean of that many residuals, autocorrelated as these are."""
    rho = estimate.lag1(residuals)
    worth = max(points * (1 - rho) / (1 + rho), 1.0)
    return NORMAL_95 * float(residuals.std()) / math.sqrt(worth)
