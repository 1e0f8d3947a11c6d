"""Score-test the residuals of a fitted law: do they move along given columns?

The law's a and b come from an instrument z (estimate.py), so its residuals e contain x times the
error of a. A regressor w is uncorrelated with e only after adjusting for that:
v = w - z (x'w) / (x'z), all centred. Under the law v'e has mean 0 and variance v' Omega v, where
Omega is the covariance of an AR(1) whose standard deviation may change along the run. Several w
together give a score test (Newey and McFadden 1994, section 9), which is free of the unit of R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import bins, estimate, numbers
from harness.law.estimate.estimate import FittedLine
from harness.law.results import Floats

MOST_BINS = 200
"""Longer runs are averaged to this number of bins."""
STRETCHES = 8
"""Number of parts of the run, each with its own noise variance."""
SMALLEST_LOCAL = 0.1
"""Smallest noise variance of a part, as a share of that of the whole run."""
SMALLEST_VARIANCE_LEFT = 0.2
"""Smallest share of the variance of autocorrelated noise that remains around its sample mean."""


@dataclass(frozen=True)
class Residuals:
    """Residuals, instrument and exp(H) of a law as centred bin means, shape (K,)."""

    left: Floats
    """Residuals of R from the law."""
    z: Floats
    """The instrument."""
    x: Floats

    @property
    def direction(self) -> Floats:
        """The instrument, normalised to length 1."""
        unit: Floats = self.z / np.linalg.norm(self.z)
        return unit

    def without_fitted(self, columns: Floats) -> Floats:
        """Return the rows of `columns` adjusted for the fit of a and b. Shape (m, K)."""
        adjusted: Floats = columns - np.outer(columns @ self.x, self.z) / float(self.z @ self.x)
        return adjusted


@dataclass(frozen=True)
class Score:
    """The significance and size of the movement of residuals along some columns."""

    p: float
    size: float
    """Peak to peak, in units of R."""
    weight: float
    """Regression coefficient of the first column."""


def bin_residuals(line: FittedLine) -> Residuals:
    """Return the binned residuals of a fitted law."""
    binned = bins.equal_bins(len(line.x), min(len(line.x), MOST_BINS))
    return Residuals(*(numbers.centred(binned.means(v)) for v in (line.residuals, line.z, line.x)))


def score_test(run: Residuals, columns: Floats, nuisance: Floats | None = None) -> Score:
    """Test the residuals against `columns`, shape (m, K).

    The noise is measured after removing `columns` and the rows of `nuisance`, so that other smooth
    departures from the law do not count as noise.
    """
    count = len(columns)
    extra = [run.direction[None], columns, *([] if nuisance is None else [nuisance])]
    fitted = np.vstack(extra)
    weights = np.linalg.lstsq(fitted.T, run.left, rcond=None)[0]
    residuals = run.left - weights @ fitted
    coefficients = len(fitted) + 1
    rho = estimate.lag1(residuals, coefficients)
    adjusted = run.without_fitted(columns)
    variance = correlated_products(adjusted * local_sd(residuals, coefficients, rho), rho)
    score = adjusted @ run.left
    f = float(score @ np.linalg.solve(variance, score)) / count
    tau = (1 + rho) / (1 - rho)
    df = max(len(residuals) / tau - coefficients, 1.0)
    movement = float(np.ptp(weights[1 : count + 1] @ columns))
    return Score(numbers.f_tail(f, count, df), movement, float(weights[1]))


def local_sd(residuals: Floats, coefficients: int, rho: float) -> Floats:
    """Return the standard deviation of the noise along the run, shape (K,).

    `residuals` are those of a fit with `coefficients` coefficients. The noise varies along the run,
    because exp() amplifies noise of H where H is high.
    """
    n, tau = len(residuals), (1 + rho) / (1 - rho)
    remaining = max(1 - 2 * tau / n, SMALLEST_VARIANCE_LEFT) * (1 - coefficients / n)
    stretches = bins.equal_bins(n, STRETCHES)
    local = stretches.spread_out(stretches.means(residuals**2))
    mean_square = numbers.mean(residuals**2)
    return np.sqrt(np.maximum(local, SMALLEST_LOCAL * mean_square) / remaining)


def correlated_products(rows: Floats, rho: float) -> Floats:
    """Return v' Omega w for all pairs of rows, Omega the correlations of an AR(1). Shape (m, m)."""
    cross = rows @ numbers.filter_ar1(rows, rho).T
    products: Floats = cross + cross.T - rows @ rows.T
    return products


@lru_cache(maxsize=64)
def polynomials(n: int, degree: int) -> Floats:
    """Return orthonormal polynomials of degree 1 to `degree`. Shape (degree, n)."""
    powers = np.vander(np.linspace(-1, 1, n), degree + 1, increasing=True)
    columns: Floats = np.linalg.qr(powers)[0][:, 1:].T
    return columns
