"""A score test of what a fitted law leaves of R: does it move along given columns as well?

The law's a and b come from an instrument z (estimate.py), so its residuals e hold what the error of
a leaves of x, and a regressor w is uncorrelated with them only without the part that a took:
v = w - z (x'w) / (x'z), all centred. Under the law v'e has mean 0 and variance v' Omega v, Omega
that of an AR(1) whose standard deviation may change along the run. Several w together make a score
test (Newey and McFadden 1994, section 9). No unit of R enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import bins, estimate, numbers
from harness.law.estimate.estimate import Line
from harness.law.results import Floats

MOST_BINS = 200
"""Longer runs are tested on so many means of neighbouring rows."""
STRETCHES = 8
"""Parts of the run of which each has noise of its own size."""
SMALLEST_LOCAL = 0.1
"""Its variance as a share of the whole run's, at least."""
SMALLEST_VARIANCE_LEFT = 0.2
"""Of what noise so correlated leaves around its mean, at least."""


@dataclass(frozen=True)
class Residuals:
    """Centred means of neighbouring rows, shape (K,)."""

    left: Floats
    """Of R, by the law."""
    z: Floats
    """The instrument."""
    x: Floats

    @property
    def direction(self) -> Floats:
        """The instrument at length 1."""
        unit: Floats = self.z / np.linalg.norm(self.z)
        return unit

    def without_fitted(self, columns: Floats) -> Floats:
        """Rows of `columns` less what the fit of a and b takes of them. Shape (m, K)."""
        taken: Floats = columns - np.outer(columns @ self.x, self.z) / float(self.z @ self.x)
        return taken


@dataclass(frozen=True)
class Score:
    """How surely the residuals move along some columns, and by how much."""

    p: float
    size: float
    """Peak to peak, in units of R."""
    weight: float
    """Of the first column."""


def of(line: Line) -> Residuals:
    """Those of a fitted law."""
    binned = bins.of(len(line.x), min(len(line.x), MOST_BINS))
    return Residuals(*(numbers.centred(binned.means(v)) for v in (line.residuals, line.z, line.x)))


def along(run: Residuals, columns: Floats, beside: Floats | None = None) -> Score:
    """The test against `columns`, shape (m, K); the noise is what these and the rows of `beside`
    leave, so that a course that neither law nor columns follow does not pass for it.
    """
    count = len(columns)
    others = [run.direction[None], columns, *([] if beside is None else [beside])]
    fitted = np.vstack(others)
    weights = np.linalg.lstsq(fitted.T, run.left, rcond=None)[0]
    left = run.left - weights @ fitted
    coefficients = len(fitted) + 1
    rho = estimate.lag1(left, coefficients)
    free = run.without_fitted(columns)
    variance = carried(free * local_sd(left, coefficients, rho), rho)
    score = free @ run.left
    f = float(score @ np.linalg.solve(variance, score)) / count
    tau = (1 + rho) / (1 - rho)
    freedom = max(len(left) / tau - coefficients, 1.0)
    moved = float(np.ptp(weights[1 : count + 1] @ columns))
    return Score(numbers.f_tail(f, count, freedom), moved, float(weights[1]))


def local_sd(left: Floats, coefficients: int, rho: float) -> Floats:
    """Standard deviation of the noise along the run, from what `coefficients` fitted ones left.

    exp() makes noise of H large where H is high. Shape (K,).
    """
    n, tau = len(left), (1 + rho) / (1 - rho)
    kept = max(1 - 2 * tau / n, SMALLEST_VARIANCE_LEFT) * (1 - coefficients / n)
    stretches = bins.of(n, STRETCHES)
    local = stretches.spread_out(stretches.means(left**2))
    even = numbers.mean(left**2)
    return np.sqrt(np.maximum(local, SMALLEST_LOCAL * even) / kept)


def carried(rows: Floats, rho: float) -> Floats:
    """v' Omega v of each two rows, Omega the correlations of an AR(1). Shape (m, m)."""
    cross = rows @ numbers.carried_on(rows, rho).T
    products: Floats = cross + cross.T - rows @ rows.T
    return products


@lru_cache(maxsize=64)
def polynomials(n: int, degree: int) -> Floats:
    """Orthonormal ones of degree 1 to `degree`. Shape (degree, n)."""
    powers = np.vander(np.linspace(-1, 1, n), degree + 1, increasing=True)
    columns: Floats = np.linalg.qr(powers)[0][:, 1:].T
    return columns
