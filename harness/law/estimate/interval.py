"""Compute 95% intervals that are valid under autocorrelated noise: for the law, a move, a mean.

The interval of the law is the wider of two. One is a delete-one-block jackknife over time blocks
(CV3: MacKinnon, Nielsen, Webb 2023; few fixed blocks: Bester, Conley, Hansen 2011), the other the
sandwich of an AR(1) with the residuals' lag-1 correlation, which also bounds the jackknife from
above. Intervals of a series use an AR(1) of its residuals from a line or a polynomial in time.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import bins, estimate, numbers
from harness.law.estimate.estimate import FittedLine
from harness.law.results import Floats, Interval

WIDEST_JACKKNIFE = 2.5
"""Largest half-width of the jackknife, in half-widths of the sandwich. Beyond it one block contains
nearly all movement of H, and a refit without that block does not measure the noise
(benchmarks/misfit.md)."""


@dataclass(frozen=True)
class LawIntervals:
    """The law's numbers with their 95% intervals."""

    a: Interval
    b: Interval
    ceiling: Interval
    cov_ab: float
    n_eff: float
    """n / tau, the effective number of independent points."""


def half_width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def law_intervals(line: FittedLine) -> LawIntervals | None:
    """Return the intervals of a, b and the ceiling; None below 4 points."""
    n = len(line.x)
    rho = estimate.lag1(line.residuals)
    tau = (1 + rho) / (1 - rho)
    if n < 4:
        return None
    jack, groups = _jackknife(line, tau)
    sandwich = _sandwich(line, rho, tau)
    t_jack = numbers.t_quantile(0.975, groups - 1)
    t_sandwich = numbers.t_quantile(0.975, max(n / tau - 2, 1))
    by_jack, by_sandwich = t_jack * _errors(jack), t_sandwich * _errors(sandwich)
    widest = np.where(by_sandwich > 0, WIDEST_JACKKNIFE * by_sandwich, np.inf)
    widths = np.clip(by_jack, by_sandwich, widest)
    shrunk = min(1.0, float(widest[0] / by_jack[0])) if by_jack[0] else 1.0
    wider = shrunk**2 * jack if by_jack[0] >= by_sandwich[0] else sandwich
    values = (line.a, line.b, line.ceiling)
    a, b, c = (Interval(v, v - w, v + w) for v, w in zip(values, map(float, widths), strict=True))
    return LawIntervals(a, b, c, float(wider[0, 1]), n / tau)


def _errors(covariance: Floats) -> Floats:
    """Return the standard errors of a, b and b - a from the 2 x 2 covariance of a and b."""
    (aa, ab), (_, bb) = covariance
    return np.sqrt(np.maximum([aa, bb, aa + bb - 2 * ab], 0.0))


def _jackknife(line: FittedLine, tau: float) -> tuple[Floats, int]:
    """Return the covariance of (a, b) from refits without one time block, and the block count."""
    edges = _equal_leverage(line, tau)
    groups = len(edges) - 1
    refits = [
        estimate.through(_leave_out(line.x, first, last), _leave_out(line.reward, first, last))
        for first, last in itertools.pairwise(edges)
    ]
    estimates = np.array([(r.a, r.b) for r in refits if r is not None]).T
    if estimates.size < 6:
        return np.zeros((2, 2)), groups
    centred = estimates - numbers.row_means(estimates)
    covariance: Floats = (groups - 1) / groups * centred @ centred.T
    return covariance, groups


def _equal_leverage(line: FittedLine, tau: float) -> list[int]:
    """Return the edges of time blocks with about equal sums of the squared instrument.

    Each block has at least 2 tau rows, if there are enough. With blocks of equal length, one block
    would hold nearly all of the sum after an early fall of H, and a refit without it would not
    measure the noise.
    """
    n = len(line.x)
    groups = min(max(6, min(round(n / (4 * tau)), 8)), n)
    shortest = min(max(1, math.ceil(2 * tau)), n // groups)
    leverage = np.cumsum(line.z**2)
    edges = [0]
    for block in range(1, groups):
        remaining = leverage[-1] - (leverage[edges[-1] - 1] if edges[-1] else 0.0)
        target = leverage[-1] - remaining * (groups - block) / (groups - block + 1)
        edge = int(np.searchsorted(leverage, target)) + 1
        edges.append(min(max(edge, edges[-1] + shortest), n - (groups - block) * shortest))
    return [*edges, n]


def _leave_out(values: Floats, first: int, last: int) -> Floats:
    return np.concatenate((values[:first], values[last:]))


def _sandwich(line: FittedLine, rho: float, tau: float) -> Floats:
    """Return the covariance of (a, b) if the errors of R are an AR(1) with correlation rho."""
    n = len(line.x)
    weight_a = -line.z / (line.z @ line.x)
    weight_b = 1 / n + weight_a * numbers.mean(line.x)
    residuals = line.residuals
    inflation = max(1 - 2 * tau / n, 0.2)
    variance = float(residuals @ residuals) / (n - 2) / inflation
    weights = np.stack([weight_a, weight_b])
    filtered = numbers.filter_ar1(weights, rho)
    cross = weights @ filtered.T
    covariance: Floats = variance * (cross + cross.T - weights @ weights.T)
    return covariance


def band(a: Interval, b: Interval, ceiling: Interval, x: Floats) -> Floats:
    """Return the pointwise 95% half-width of b - a*x, x = exp(H), in the shape of `x`.

    The variance of b - a*x is quadratic in x. The one quadratic that gives the reported
    half-widths w of b (x = 0), of the ceiling b - a (x = 1) and of a (the slope) is
    w_b^2 (1 - x) + w_a^2 x (x - 1) + w_c^2 x. It is exact if all three intervals come from one
    covariance, which need not be so, because each is the wider of two.
    """
    w_a, w_b, w_c = half_width(a), half_width(b), half_width(ceiling)
    square = w_b**2 * (1 - x) + w_a**2 * x * (x - 1) + w_c**2 * x
    return np.sqrt(np.maximum(square, 0.0))


FEWEST_FOR_A_CURVE = 4
BATCHES = 8


@dataclass(frozen=True)
class FittedChange:
    """The change of a fitted line from the first step to the last, and its standard error."""

    value: float
    se: float


def fit_change(steps: Floats, values: Floats) -> FittedChange | None:
    """Fit a line to a series and return its change over the run; None below 4 points."""
    n = len(steps)
    if n < FEWEST_FOR_A_CURVE:
        return None
    time = numbers.centred(steps) / float(steps[-1] - steps[0])
    power = float(time @ time)
    slope = float(time @ values) / power
    residuals = numbers.centred(values) - slope * time
    rho = estimate.lag1(residuals)
    variance = float(residuals @ residuals) / (n - 2) / power * (1 + rho) / (1 - rho)
    return FittedChange(slope, variance**0.5)


@dataclass(frozen=True)
class SeriesNoise:
    """The noise of a series around a smooth course."""

    sd: float
    tau: float
    """(1 + rho) / (1 - rho), the number of neighbouring points per independent one."""
    t: float
    """Student's t of a two-sided 95% interval, for n / tau - 2 degrees of freedom."""

    def half_width(self, n: int) -> float:
        """Return the half-width of the 95% interval of a mean of n neighbouring values."""
        return self.t * self.sd / math.sqrt(max(n / self.tau, 1.0))


def measure_noise(values: Floats, degree: int = 3) -> SeriesNoise:
    """Return the noise around a polynomial in time of that degree. Needs degree + 2 values."""
    n = len(values)
    basis = _polynomials(n, degree)
    residuals = values - basis @ (basis.T @ values)
    rho = estimate.lag1(residuals, degree + 1)
    tau = (1 + rho) / (1 - rho)
    t = numbers.t_quantile(0.975, max(n / tau - 2, 1))
    return SeriesNoise((float(residuals @ residuals) / (n - degree - 1)) ** 0.5, tau, t)


@lru_cache(maxsize=8)
def _polynomials(n: int, degree: int) -> Floats:
    """Return orthonormal polynomials on n equal steps, shape (n, degree + 1)."""
    basis: Floats = np.linalg.qr(np.vander(np.linspace(-1, 1, n), degree + 1))[0]
    return basis


def batch_half_width(values: Floats) -> float:
    """Return the half-width of the mean's 95% interval from 8 time blocks around a parabola.

    Needs n >= 8.
    """
    blocks = measure_noise(bins.equal_bins(len(values), BATCHES).means(values), degree=2)
    return numbers.t_quantile(0.975, BATCHES - 3) * blocks.sd / math.sqrt(BATCHES)
