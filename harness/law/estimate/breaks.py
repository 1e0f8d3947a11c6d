"""Find breaks of the law: R leaves it at some step or after the onset, or falls while H falls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from harness.law.estimate import bins, estimate, interval, numbers, segments
from harness.law.estimate.bins import Indices
from harness.law.estimate.estimate import FittedLine
from harness.law.estimate.identifiability import LawFit
from harness.law.estimate.segments import Knots
from harness.law.io.clean import Points
from harness.law.results import Floats

BREAK_F = 10.0
TURN_F, TURN_F_ALONE = 12.0, 6.0
"""Smallest F of a turn of the reward: in a run whose H collapsed, which may explain the turn, and
in other runs."""
EXCUSED = 1.5
"""A rise of H explains up to this many times the fall of R that the law predicts, because both are
noisy."""
LEAST_BREAK, LEAST_TURN = 0.8, 1.0
"""Smallest unexplained reward of a break and smallest fall of a turn, in standard deviations of the
noise of one row."""
SHARE_OF_LAW = 0.25
"""Smallest unexplained reward of a break, as a share of the movement of R by the law."""
SHARE_OF_RISE = 0.2
"""Smallest fall of R after a rise that counts as a turn, as a share of the rise."""


@dataclass(frozen=True)
class BinnedRun:
    """Time-binned means for tests of shape. All arrays have shape (K,)."""

    steps: Floats
    time: Floats
    """Centre of each bin as a share of the run, 0 to 1."""
    x: Floats
    reward: Floats
    noise: float
    """Standard deviation of one row of R around a smooth course."""

    @cached_property
    def reward_knot(self) -> Knots:
        """The knot at which R bends."""
        return segments.one_knot(self.reward)


@dataclass(frozen=True)
class Break:
    """The best-fitting step for a break of the law, and the reward it leaves unexplained."""

    step: float
    f: float
    unexplained: float
    """Movement of R after the break minus the movement predicted by the law, in absolute value."""


@dataclass(frozen=True)
class Shortfall:
    """Reward predicted by the law after some step, minus the observed reward, with its error."""

    reward: float
    se: float

    @property
    def z(self) -> float:
        return self.reward / self.se if self.se > 0 else math.copysign(math.inf, self.reward)


def bin_run(points: Points) -> BinnedRun:
    """Return the time-binned means of at least 16 points without spikes."""
    onset_bins = bins.for_onset(len(points))
    series = bins.resample_evenly(points.steps, points.x, points.reward)
    steps, x, reward = (onset_bins.means(values) for values in series)
    noise, count = interval.measure_noise(points.reward).sd, len(onset_bins)
    return BinnedRun(steps, (np.arange(count) + 0.5) / count, x, reward, noise)


def is_large(unexplained: float, line: FittedLine, run: BinnedRun) -> bool:
    """Return whether the unexplained reward is large relative to the noise and to the law."""
    law_movement = abs(line.a) * float(np.ptp(line.x))
    return unexplained > max(SHARE_OF_LAW * law_movement, LEAST_BREAK * run.noise)


def law_break(run: BinnedRun) -> Break:
    """Fit R = b - a*x_min(t,k) + d*(t - k)+ for every k, and test the best against the law."""
    count = len(run.time)
    until, after, squares = _break_regressors(count)
    x_until = run.x.take(until)
    x_until -= numbers.row_means(x_until)
    slopes, ssr = _two_regressors(x_until, after, squares, run.reward)
    best = int(np.argmin(ssr))
    k, (x_slope, time_slope) = best + segments.EDGE, slopes[best]
    residuals = numbers.centred(run.reward) - x_slope * x_until[best] - time_slope * after[best]
    end = max(1, count // 20)
    movement = time_slope * (1 - run.time[k]) - x_slope * (numbers.mean(run.x[-end:]) - run.x[k])
    return Break(
        float(run.steps[k]), _f(run, residuals, extra=3, parameters=5), abs(float(movement))
    )


@lru_cache(maxsize=32)
def _break_regressors(count: int) -> tuple[Indices, Floats, Floats]:
    """Return the regressors of a law that ends at each inner bin k: the indices min(t, k) and the
    centred (t - k)+, shape (breaks, bins), and the sum of squares of the latter, shape (breaks,).
    """
    time = (np.arange(count) + 0.5) / count
    knots = np.arange(segments.EDGE, count - segments.EDGE)[:, None]
    after = np.maximum(time - time[knots], 0.0)
    after -= after.mean(axis=1, keepdims=True)
    return np.minimum(np.arange(count), knots), after, _row_products(after, after)


def _row_products(first: Floats, second: Floats) -> Floats:
    """Return the dot product of each pair of rows. Shape (rows,)."""
    products: Floats = np.einsum("mk,mk->m", first, second)
    return products


def shortfall(law: LawFit, after: Points) -> Shortfall | None:
    """Return the rise of R over the points `after` as predicted by `law`, minus the observed rise.

    None if either is unknown.
    """
    if law.line is None or law.spread is None:
        return None
    x, reward = (
        interval.fit_change(after.steps, after.x),
        interval.fit_change(after.steps, after.reward),
    )
    if x is None or reward is None:
        return None
    se_a = interval.half_width(law.spread.a) / 2
    missing = -law.line.a * x.value - reward.value
    return Shortfall(missing, float(np.hypot(reward.se, x.value * se_a)))


def falls_after_rise(run: BinnedRun, collapsed: bool) -> bool:
    """Return whether R rises and then falls by more than H explains.

    The unexplained fall must exceed a fifth of the rise and the noise of one row.
    """
    smallest_f = TURN_F if collapsed else TURN_F_ALONE
    knots = run.reward_knot
    k = knots.at[0]
    rise = knots.slopes[0] * run.time[k]
    fall = -knots.slopes[1] * (1 - run.time[k])
    if rise <= 0 or knots.f <= smallest_f:
        return False
    smallest_fall = max(LEAST_TURN * run.noise, SHARE_OF_RISE * rise)
    return bool(fall - _explained_fall(run.x, k, knots.slopes[0]) > smallest_fall)


def _explained_fall(x: Floats, knot: int, reward_slope: float) -> float:
    """Return the fall of R that a rise of x after the knot explains, by the law before the knot.

    `reward_slope` is the slope of R before the knot, per run. If x did not fall before the knot,
    there is no law to predict the fall of R, and any rise of x explains it (infinity).
    """
    before, after = segments.slopes_around(x, knot)
    if after <= 0:
        return 0.0
    remaining = 1 - (knot + 0.5) / len(x)
    return EXCUSED * reward_slope / -before * after * remaining if before < 0 else math.inf


def _two_regressors(u: Floats, v: Floats, vv: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Fit y on [1, u, v] by least squares for all pairs of centred rows u, v at once.

    `vv` holds the sums of squares of v. Return slopes, shape (m, 2), and SSR, shape (m,).
    """
    centred, uu, uv = numbers.centred(y), _row_products(u, u), _row_products(u, v)
    uy, vy = u @ centred, v @ centred
    determinant = uu * vv - uv**2
    usable = determinant > 1e-12 * np.maximum(uu * vv, 1e-300)
    safe = np.where(usable, determinant, 1.0)
    slopes = np.stack([(vv * uy - uv * vy) / safe, (uu * vy - uv * uy) / safe], axis=1)
    gain = slopes[:, 0] * uy + slopes[:, 1] * vy
    return slopes, np.where(usable, centred @ centred - gain, np.inf)


def _f(run: BinnedRun, residuals: Floats, extra: int, parameters: int) -> float:
    law = estimate.least_squares(run.x, run.reward)
    law_residuals = (
        numbers.centred(run.reward) if law is None else run.reward - (law.b - law.a * run.x)
    )
    rho = estimate.lag1(residuals)
    ssr = max(float(residuals @ residuals), 1e-300)
    df = max(len(residuals) - parameters, 1)
    f = (float(law_residuals @ law_residuals) - ssr) / extra / (ssr / df) * (1 - rho) / (1 + rho)
    return max(f, 0.0)
