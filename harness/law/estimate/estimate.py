"""R = -a*exp(H) + b by an instrumental variable, and by least squares for comparison.

H is measured with noise, so least squares of R on x = exp(H) shrinks a. The instrument z_t is
read off the line between the means of the time bins before and after the one t lies in: it
moves with the true x and shares no noise with x_t. The law: arXiv 2505.22617, section 2.4.
Grouping against errors in variables: Wald 1940. What exp() makes of the noise itself, a bias that
no instrument removes, is taken off x beforehand (`without_noise_bias`).
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
    """x without that bias; `x` itself where there is none to be seen. Shape (n,).

    How the noise goes along the run is what H does in each bin around the line through the bins
    beside it; how much of that is noise, `noise_share` of the variance of x says.
    """
    binned = bins.for_fit(len(x))
    bin_means = binned.means(entropy)
    if len(bin_means) < FEWEST_BINS_FOR_BIAS or noise_share == 0:
        return x
    around = spikes.clipped(entropy - binned.between_neighbours(bin_means)) ** 2
    variance = binned.spread_out(binned.means(around))
    moved, most = numbers.centred(x), float(x**2 @ variance)
    if most == 0:
        return x
    share = min(noise_share * float(moved @ moved) / most, 1.0)
    return x * np.exp(-share * variance / 2)


STRONG_FIRST_STAGE = 25.0
"""First-stage F up to which the neighbours' instrument gives way to the bin's own mean."""
FAR_ABOVE = 1.01
"""So many times STRONG_FIRST_STAGE is above it whatever the rounding."""
LARGEST_AUTOCORRELATION = 0.98
LARGEST_TAU = (1 + LARGEST_AUTOCORRELATION) / (1 - LARGEST_AUTOCORRELATION)


@dataclass(frozen=True)
class Line:
    """R = -a*x + b, and what an interval needs of how it was found."""

    a: float
    b: float
    first_stage_f: float
    """F of the neighbours' instrument, whether or not it was used; at least that, where it is far
    above STRONG_FIRST_STAGE."""
    x: Floats
    """exp(H) without spikes and without the bias that noise of H gives it, shape (n,)."""
    reward: Floats
    """Without spikes, shape (n,)."""
    z: Floats
    """The instrument used, minus its mean, shape (n,)."""

    @property
    def ceiling(self) -> float:
        return self.b - self.a

    @cached_property
    def residuals(self) -> Floats:
        """Zero where they are mere rounding, which would look autocorrelated."""
        left = self.reward - (self.b - self.a * self.x)
        rounding = 1e-10 * float(np.abs(self.reward).max() + abs(self.a) * self.x.max())
        return np.where(np.abs(left) > rounding, left, 0.0)


def fit(entropy: Floats, reward: Floats) -> Line | None:
    """The law through n points in order of their steps; None if exp(H) does not vary or n < 3."""
    if len(entropy) < 3:
        return None
    line = through(np.exp(entropy), reward)
    if line is None:
        return None
    x = without_noise_bias(entropy, line.x, _noise_share(line))
    return _by_instrument(x, reward, line.z, line.first_stage_f)


def through(x: Floats, reward: Floats) -> Line | None:
    """The instrumental-variable line through points that hold no spikes."""
    return _by_instrument(x, reward, *_instrument(x, bins.for_fit(len(x))))


def _by_instrument(x: Floats, reward: Floats, z: Floats, f: float) -> Line | None:
    shared = float(z @ x)
    if not abs(shared) > 1e-12 * max(1.0, float(x @ x)):
        return None
    a = -float(z @ reward) / shared
    return Line(a, float(numbers.mean(reward) + a * numbers.mean(x)), f, x, reward, z)


def least_squares(x: Floats, reward: Floats) -> LeastSquares | None:
    """None if x does not vary."""
    spread, moved = numbers.centred(x), numbers.centred(reward)
    power = spread @ spread
    if len(x) < 2 or not power > 1e-12 * max(1.0, float(x @ x)):
        return None
    a = float(-(spread @ moved) / power)
    total = float(moved @ moved)
    left = moved + a * spread
    r2 = 1 - float(left @ left) / total if total > 0 else 0.0
    return LeastSquares(a, float(numbers.mean(reward) + a * numbers.mean(x)), r2)


def _noise_share(line: Line) -> float:
    """The share of noise in the variance of x, as least squares, which it shrinks, shows it."""
    plain = least_squares(line.x, line.reward)
    if plain is None or line.a == 0:
        return 0.0
    return min(max(1 - plain.a / line.a, 0.0), 1.0)


def lag1(residuals: Floats, coefficients: int = 1) -> float:
    """Lag-1 autocorrelation with its small-sample bias taken off, in [0, 0.98].

    The bias of n values of an AR(1) is -(1 + 4 rho) / n where their mean was fitted (Kendall 1954;
    Marriott and Pope 1954): 3 rho / n of it without any fit, and (1 + rho) / n for each
    coefficient of a smooth course, since it takes (1 + rho) / (1 - rho) of n variances with it.
    """
    n, centred = len(residuals), numbers.centred(residuals)
    power = float(centred @ centred)
    if n < 3 or power <= 0:
        return 0.0
    raw = float(centred[1:] @ centred[:-1]) / power
    lost = (coefficients + (coefficients + 3) * raw) / n
    return min(max(raw + lost, 0.0), LARGEST_AUTOCORRELATION)


def _instrument(x: Floats, binned: Bins) -> tuple[Floats, float]:
    """The instrument, minus its mean, and the first-stage F of the neighbours' one."""
    bin_means = binned.means(x)
    if len(bin_means) < 3:
        return numbers.centred(x), 0.0
    neighbours = numbers.centred(binned.between_neighbours(bin_means))
    f = _first_stage_f(x, neighbours)
    if f > STRONG_FIRST_STAGE:
        return neighbours, f
    return numbers.centred(binned.spread_out(bin_means)), f


def _first_stage_f(x: Floats, z: Floats) -> float:
    """F of x on z, which has mean 0. What z leaves of x is clipped, so that one steep bin does not
    count as noise.

    An F that is strong even unclipped and at the largest autocorrelation is returned as that:
    the true one lies above it, and nobody asks how far.
    """
    power = float(z @ z)
    if power <= 0:
        return 0.0
    slope = float(z @ x) / power
    left = numbers.centred(x) - slope * z
    most = float(left @ left) / (len(x) - 2) * LARGEST_TAU
    if slope**2 * power > FAR_ABOVE * STRONG_FIRST_STAGE * most:
        return slope**2 * power / most if most > 0 else np.inf
    left = spikes.clipped(left)
    rho = lag1(left)
    noise = float(left @ left) / (len(x) - 2) * (1 + rho) / (1 - rho)
    return slope**2 * power / noise if noise > 0 else np.inf
