"""Fit R = -a*exp(H) + b by an instrumental variable, and by least squares for comparison.

H is measured with noise, so least squares of R on x = exp(H) shrinks a. The instrument z_t is
interpolated between the means of the time bins before and after the bin of t: it follows the true
x and shares no noise with x_t. The law: arXiv 2505.22617, section 2.4. Grouping against errors in
variables: Wald 1940. exp() of a noisy H is also biased, which no instrument corrects, so that bias
is removed from x first (`without_noise_bias`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.law.estimate import bins, numbers, spikes
from harness.law.estimate.bins import Bins
from harness.law.results import Floats, LeastSquares

FEWEST_BINS_FOR_BIAS = 3


def without_noise_bias(entropy: Floats, x: Floats, noise_share: float) -> Floats:
    """Return x without the bias from the noise of H; `x` itself if no bias is seen. Shape (n,).

    The variance of H in each bin around its neighbours gives the profile of the noise along the
    run. It is scaled so that the noise makes up `noise_share` of the variance of x.
    """
    binned = bins.for_fit(len(x))
    bin_means = binned.means(entropy)
    if len(bin_means) < FEWEST_BINS_FOR_BIAS or noise_share == 0:
        return x
    squares = spikes.clip_residuals(entropy - binned.between_neighbours(bin_means)) ** 2
    variance = binned.spread_out(binned.means(squares))
    deviations, bias_variance = numbers.centred(x), float(x**2 @ variance)
    if bias_variance == 0:
        return x
    share = min(noise_share * float(deviations @ deviations) / bias_variance, 1.0)
    return x * np.exp(-share * variance / 2)


STRONG_FIRST_STAGE = 25.0
"""First-stage F up to which the mean of the point's own bin replaces the neighbours' instrument."""
FAR_ABOVE = 1.01
"""Factor that keeps a lower bound of F above STRONG_FIRST_STAGE despite rounding."""
LARGEST_AUTOCORRELATION = 0.98
LARGEST_TAU = (1 + LARGEST_AUTOCORRELATION) / (1 - LARGEST_AUTOCORRELATION)


@dataclass(frozen=True)
class FittedLine:
    """R = -a*x + b, with the data that its intervals are computed from."""

    a: float
    b: float
    first_stage_f: float
    """F of the neighbours' instrument, whether or not it was used. A lower bound of F if that is
    far above STRONG_FIRST_STAGE."""
    x: Floats
    """exp(H) without spikes and without the bias from the noise of H, shape (n,)."""
    reward: Floats
    """R without spikes, shape (n,)."""
    z: Floats
    """The instrument used, minus its mean, shape (n,)."""

    @property
    def ceiling(self) -> float:
        return self.b - self.a

    @cached_property
    def residuals(self) -> Floats:
        """Residuals, with rounding errors set to zero because they would look autocorrelated."""
        residuals = self.reward - (self.b - self.a * self.x)
        rounding = 1e-10 * float(np.abs(self.reward).max() + abs(self.a) * self.x.max())
        return np.where(np.abs(residuals) > rounding, residuals, 0.0)


def fit(entropy: Floats, reward: Floats) -> FittedLine | None:
    """Fit the law to n points in order of their steps; None if exp(H) is constant or n < 3."""
    if len(entropy) < 3:
        return None
    line = through(np.exp(entropy), reward)
    if line is None:
        return None
    x = without_noise_bias(entropy, line.x, _noise_share(line))
    return _by_instrument(x, reward, line.z, line.first_stage_f)


def through(x: Floats, reward: Floats) -> FittedLine | None:
    """Fit the instrumental-variable line to points without spikes."""
    return _by_instrument(x, reward, *_instrument(x, bins.for_fit(len(x))))


def _by_instrument(x: Floats, reward: Floats, z: Floats, f: float) -> FittedLine | None:
    product = float(z @ x)
    if not abs(product) > 1e-12 * max(1.0, float(x @ x)):
        return None
    a = -float(z @ reward) / product
    return FittedLine(a, float(numbers.mean(reward) + a * numbers.mean(x)), f, x, reward, z)


def least_squares(x: Floats, reward: Floats) -> LeastSquares | None:
    """Fit R = -a*x + b by ordinary least squares; None if x does not vary."""
    if len(x) < 2:
        return None
    x_deviations, reward_deviations = numbers.centred(x), numbers.centred(reward)
    power = x_deviations @ x_deviations
    if not power > 1e-12 * max(1.0, float(x @ x)):
        return None
    a = float(-(x_deviations @ reward_deviations) / power)
    total = float(reward_deviations @ reward_deviations)
    residuals = reward_deviations + a * x_deviations
    r2 = 1 - float(residuals @ residuals) / total if total > 0 else 0.0
    return LeastSquares(a, float(numbers.mean(reward) + a * numbers.mean(x)), r2)


def _noise_share(line: FittedLine) -> float:
    """Estimate the share of noise in the variance of x from how much it shrinks least squares."""
    ols = least_squares(line.x, line.reward)
    if ols is None or line.a == 0:
        return 0.0
    return min(max(1 - ols.a / line.a, 0.0), 1.0)


def lag1(residuals: Floats, coefficients: int = 1) -> float:
    """Return the lag-1 autocorrelation, corrected for small-sample bias, in [0, 0.98].

    For n values of an AR(1) with a fitted mean the bias is -(1 + 4 rho) / n (Kendall 1954; Marriott
    and Pope 1954). Of that, 3 rho / n arises without any fit, and (1 + rho) / n from each fitted
    coefficient of a smooth course, which removes (1 + rho) / (1 - rho) of n variances.
    """
    n, centred = len(residuals), numbers.centred(residuals)
    power = float(centred @ centred)
    if n < 3 or power <= 0:
        return 0.0
    raw = float(centred[1:] @ centred[:-1]) / power
    bias = (coefficients + (coefficients + 3) * raw) / n
    return min(max(raw + bias, 0.0), LARGEST_AUTOCORRELATION)


def _instrument(x: Floats, binned: Bins) -> tuple[Floats, float]:
    """Return the centred instrument, and the first-stage F of the neighbours' instrument."""
    bin_means = binned.means(x)
    if len(bin_means) < 3:
        return numbers.centred(x), 0.0
    neighbours = numbers.centred(binned.between_neighbours(bin_means))
    f = _first_stage_f(x, neighbours)
    if f > STRONG_FIRST_STAGE:
        return neighbours, f
    return numbers.centred(binned.spread_out(bin_means)), f


def _first_stage_f(x: Floats, z: Floats) -> float:
    """Return the F of x on z, which has mean 0.

    The residuals of x are clipped, so that one steep bin does not count as noise. If the F is
    strong even with unclipped residuals and the largest autocorrelation, that lower bound is
    returned, because callers only compare F with a threshold.
    """
    power = float(z @ z)
    if power <= 0:
        return 0.0
    slope = float(z @ x) / power
    residuals = numbers.centred(x) - slope * z
    largest_noise = float(residuals @ residuals) / (len(x) - 2) * LARGEST_TAU
    if slope**2 * power > FAR_ABOVE * STRONG_FIRST_STAGE * largest_noise:
        return slope**2 * power / largest_noise if largest_noise > 0 else np.inf
    residuals = spikes.clip_residuals(residuals)
    rho = lag1(residuals)
    noise = float(residuals @ residuals) / (len(x) - 2) * (1 + rho) / (1 - rho)
    return slope**2 * power / noise if noise > 0 else np.inf
