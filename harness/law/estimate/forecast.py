"""The law ahead of time: its skill on the rest of a run, and a forecast of the reward at its end.

Nobody knows where H goes: a forecast takes five guesses and shows their spread. Time runs from 0
at the first step to 1 at the last that is known; H is never below 0 nor above the highest that a
row may hold.
"""

from __future__ import annotations

import math

import numpy as np

from harness.law.estimate import (
    binning,
    estimate,
    identifiability,
    interval,
    numbers,
    onset,
    rival_forms,
)
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import FEWEST_POINTS, HIGHEST_ENTROPY_NATS, Cleaned, Points
from harness.law.results import Floats, Forecast, Interval

FEWEST_FITTED = 8
FEWEST_BINS_AHEAD = 4
LAST_OF_FITTED = 0.1
"""Share of the first part whose mean reward is the last value."""


def out_of_time(x: Floats, reward: Floats) -> float | None:
    """1 - squared error of the law / of the last value, told x = exp(H); the better of two splits.

    One split is the middle, the other the point by which x did half of its moving: where H fell
    early, the second half of the run holds nothing to predict. Both arrays without spikes, shape
    (n,). None below 16 points or where x or R does not vary.
    """
    if len(x) < FEWEST_POINTS:
        return None
    half = len(x) // 2
    early = max(FEWEST_FITTED, min(_half_moved(x), half))
    skills = [_skill(x, reward, split) for split in sorted({early, half})]
    return max((skill for skill in skills if skill is not None), default=None)


def _half_moved(x: Floats) -> int:
    """The number of points before half of the movement of x, in time bins, is done."""
    label = binning.labels(len(x), binning.fit_bins(len(x)))
    moved = np.cumsum(np.abs(np.diff(binning.means(x, label))))
    return int(np.argmax(label > np.argmax(moved >= moved[-1] / 2)))


def _skill(x: Floats, reward: Floats, split: int) -> float | None:
    """On time-binned means: the noise of one H is no error of the law."""
    line = estimate.through(x[:split], reward[:split])
    if line is None:
        return None
    rest = len(x) - split
    label = binning.labels(rest, max(FEWEST_BINS_AHEAD, binning.fit_bins(len(x)) * rest // len(x)))
    truth = binning.means(reward[split:], label)
    predicted = line.b - line.a * binning.means(x[split:], label)
    last = numbers.mean(reward[split - max(1, round(LAST_OF_FITTED * split)) : split])
    against = float(((truth - last) ** 2).sum())
    return 1 - float(((truth - predicted) ** 2).sum()) / against if against > 0 else None


LAST_OF_COURSE = 0.1
"""Share of the bins whose median is the last value."""
LOG_LINEAR = "log_linear"
"""The guess that a forecast is centred on."""


def guesses(time: Floats, log_h: Floats, at: float) -> dict[str, float]:
    """H at time `at` by each way to go on; `time` and `log_h` of shape (K,), K >= 8."""
    h, half, last = np.exp(log_h), len(time) // 2, max(1, round(LAST_OF_COURSE * len(time)))
    by_method = {
        "last_value": float(np.median(h[-last:])),
        LOG_LINEAR: _exp(_line(time, log_h, at)),
        "log_linear_second_half": _exp(_line(time[half:], log_h[half:], at)),
        "saturating": _saturating(time, h, at, floored=False),
        "saturating_floored": _saturating(time, h, at, floored=True),
    }
    return {name: float(np.clip(v, 0.0, HIGHEST_ENTROPY_NATS)) for name, v in by_method.items()}


def _exp(log_h: float) -> float:
    return float(np.exp(min(log_h, np.log(HIGHEST_ENTROPY_NATS))))


def _line(time: Floats, values: Floats, at: float) -> float:
    centred = time - time.mean()
    return float(values.mean() + (at - time.mean()) * (centred @ values) / (centred @ centred))


def _saturating(time: Floats, h: Floats, at: float, floored: bool) -> float:
    """H by c + d exp(-t/tau), with c at 0 or above where it is floored."""
    both = np.append(time, at)
    form = rival_forms.saturating(both, np.append(h, h[-1]), len(time))
    seen = form[:-1] - form[:-1].mean()
    size = float(seen @ h) / max(float(seen @ seen), 1e-300)
    level = float(h.mean() - size * form[:-1].mean())
    if floored and level + size < 0:
        return _decaying_to_nothing(time, h, at)
    return level + size * float(form[-1])


def _decaying_to_nothing(time: Floats, h: Floats, at: float) -> float:
    """H by d exp(-t/tau)."""
    durations = rival_forms.DURATIONS
    columns = np.exp(-time / durations[:, None])
    along, power = columns @ h, np.einsum("ck,ck->c", columns, columns)
    best = int(np.argmax(along**2 / power))
    return float(along[best] / power[best] * np.exp(-at / durations[best]))


END = 0.05
"""Share of the run, at its end, whose mean reward is predicted."""
NORMAL_95 = 1.96


def forecast(cleaned: Cleaned, share: float) -> Forecast:
    """Predicts the reward at the end of the run from its first `share`, beside what it was."""
    points, steps = cleaned.points, cleaned.steps
    first, last = float(steps[0]), float(steps[-1])
    cut = first + share * (last - first)
    before_cut = steps <= cut
    early = points.where(points.steps <= cut)
    end = points.where(points.steps > max(cut, last - END * (last - first)))
    fitted = identifiability.fit(early)
    course = onset.course(steps[before_cut], cleaned.entropy[before_cut])
    predicted = _predicted(fitted, course, end) if course is not None else None
    last_value = float(early.reward[-_last(len(early)) :].mean()) if len(early) else None
    truth = float(end.reward.mean()) if len(end) else None
    return Forecast(
        value=predicted.value if predicted else None,
        low=predicted.low if predicted else None,
        high=predicted.high if predicted else None,
        from_step=cut,
        identified=identifiability.identified(fitted).a,
        last_value=last_value,
        truth=truth,
        error=predicted.value - truth if predicted and truth is not None else None,
        last_value_error=last_value - truth
        if last_value is not None and truth is not None
        else None,
    )


def _last(n: int) -> int:
    return max(1, round(END * n))


def _predicted(fitted: Fitted, course: BinnedEntropy, end: Points) -> Interval | None:
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
    guessed = guesses(time, course.log_h, at)
    x = np.exp(np.array(list(guessed.values())))
    sure = interval.band(spread.a, spread.b, spread.ceiling, x)
    half = np.hypot(sure, _noise(line.residuals, len(end)))
    reward = line.b - line.a * x
    value = reward[list(guessed).index(LOG_LINEAR)]
    return Interval(float(value), float((reward - half).min()), float((reward + half).max()))


def _noise(residuals: Floats, points: int) -> float:
    """95% half-width of a mean of that many residuals, autocorrelated as these are."""
    rho = estimate.lag1(residuals)
    worth = max(points * (1 - rho) / (1 + rho), 1.0)
    return NORMAL_95 * float(residuals.std()) / math.sqrt(worth)
