"""A test of fit: does what the law leaves of R move with the step, smoothly or by a leap?

The law's a and b come from an instrument z (estimate.py), so its residuals e hold what the error of
a leaves of x, and a regressor w is uncorrelated with them only without the part that a took:
v = w - z (x'w) / (x'z), all centred. Under the law v'e has mean 0 and variance v' Omega v, Omega
that of an AR(1) whose standard deviation may change along the run. Several w together make a score
test (Newey and McFadden 1994, section 9). No unit of R enters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import bins, estimate, numbers
from harness.law.estimate.bins import Places
from harness.law.estimate.estimate import Line
from harness.law.results import Floats

MOST_BINS = 200
"""Longer runs are tested on so many means of neighbouring rows."""
DEGREE = 5
"""Of the polynomial in the step that a smooth course beside the law is sought by."""
SMOOTH_LEVEL = 0.001
"""Level of the test against a polynomial of that degree in the step, from MOST_BINS on; with fewer
it shrinks with their square. The noise of H and that of R are not one AR(1), and short runs exceed
the level that is asked tenfold (benchmarks/misfit.md)."""
LEAP_F = 25.0
"""F of the best of up to 180 leaps; with fewer bins it grows with the root of what is lacking."""
EDGE = 0.05
"""Share of the run at either end in which no leap is sought."""
SMALLEST_SHARE = 0.1
"""What is left, as a share of what the law moved R by, that is worth calling a misfit."""
STRETCHES = 8
"""Parts of the run of which each has noise of its own size."""
SMALLEST_LOCAL = 0.1
"""Its variance as a share of the whole run's, at least."""
SMALLEST_VARIANCE_LEFT = 0.2
"""Of what noise so correlated leaves around its mean, at least."""


@dataclass(frozen=True)
class Misfit:
    """What moves with the step beside the law."""

    p: float
    """Of a smooth course beside the law."""
    leap_f: float
    leap_at: int
    """Index of the first bin after the leap."""
    bins: int
    share: float
    """The larger of both, peak to peak, as a share of what the law moves R by."""

    @property
    def found(self) -> bool:
        """Whether there is one: beyond noise, and not small beside the law."""
        few = self.bins / MOST_BINS
        seen = self.p < SMOOTH_LEVEL * few**2 or self.leap_f > LEAP_F / few**0.5
        return seen and self.share > SMALLEST_SHARE


@dataclass(frozen=True)
class _Binned:
    """Centred means of neighbouring rows, shape (K,)."""

    left: Floats
    z: Floats
    x: Floats

    def without_fitted(self, columns: Floats) -> Floats:
        """Rows of `columns` less what the fit of a and b takes of them. Shape (m, K)."""
        taken: Floats = columns - np.outer(columns @ self.x, self.z) / float(self.z @ self.x)
        return taken


def test(line: Line) -> Misfit | None:
    """None where the bins are too few for the polynomial or nothing is left to explain."""
    n = len(line.x)
    binned = bins.of(n, min(n, MOST_BINS))
    run = _Binned(*(numbers.centred(binned.means(v)) for v in (line.residuals, line.z, line.x)))
    moved = abs(line.a) * float(np.ptp(run.x))
    if len(binned) < 3 * (DEGREE + 2) or not run.left @ run.left > 0 or not moved > 0:
        return None
    p, smooth = _smooth(run)
    f, at, leap = _leap(run)
    return Misfit(p, f, at, len(binned), max(smooth, leap) / moved)


def _smooth(run: _Binned) -> tuple[float, float]:
    """p of a polynomial in the step beside the law, and how much it moves R, peak to peak."""
    columns = _polynomials(len(run.left), DEGREE)
    beside = np.vstack([run.z / np.linalg.norm(run.z), columns])
    weights = np.linalg.lstsq(beside.T, run.left, rcond=None)[0]
    left = run.left - weights @ beside
    rho = estimate.lag1(left, DEGREE + 2)
    free = run.without_fitted(columns)
    variance = _carried(free * _local_sd(left, DEGREE + 2, rho), rho)
    score = free @ run.left
    f = float(score @ np.linalg.solve(variance, score)) / DEGREE
    tau = (1 + rho) / (1 - rho)
    freedom = max(len(left) / tau - DEGREE - 2, 1.0)
    return numbers.f_tail(f, DEGREE, freedom), float(np.ptp(weights[1:] @ columns))


def _local_sd(left: Floats, coefficients: int, rho: float) -> Floats:
    """Standard deviation of the noise along the run, from what `coefficients` fitted ones left.

    exp() makes noise of H large where H is high. Shape (K,).
    """
    n, tau = len(left), (1 + rho) / (1 - rho)
    kept = max(1 - 2 * tau / n, SMALLEST_VARIANCE_LEFT) * (1 - coefficients / n)
    stretches = bins.of(n, STRETCHES)
    local = stretches.spread_out(stretches.means(left**2))
    even = numbers.mean(left**2)
    return np.sqrt(np.maximum(local, SMALLEST_LOCAL * even) / kept)


def _carried(rows: Floats, rho: float) -> Floats:
    """v' Omega v of each two rows, Omega the correlations of an AR(1). Shape (m, m)."""
    cross = rows @ numbers.carried_on(rows, rho).T
    carried: Floats = cross + cross.T - rows @ rows.T
    return carried


def _leap(run: _Binned) -> tuple[float, int, float]:
    """F of the best leap of R beside the law, where it is, and its size."""
    at, columns = _leaps(len(run.left))
    along = run.z / np.linalg.norm(run.z)
    apart = columns - np.outer(columns @ along, along)
    power, score = np.einsum("mk,mk->m", apart, apart), apart @ run.left
    usable = power > 1e-9 * len(run.left)
    gain = np.where(usable, score**2 / np.where(usable, power, 1.0), 0.0)
    best = int(np.argmax(gain))
    if gain[best] == 0:
        return 0.0, int(at[best]), 0.0
    size = float(score[best] / power[best])
    left = run.left - along * float(along @ run.left) - size * apart[best]
    if not left @ left > 0:
        return math.inf, int(at[best]), abs(size)
    rho = estimate.lag1(left, 4)
    row = apart[best : best + 1]
    variance = float(_carried(row * _local_sd(left, 4, rho), rho)[0, 0])
    return float(score[best]) ** 2 / variance, int(at[best]), abs(size)


@lru_cache(maxsize=32)
def _polynomials(n: int, degree: int) -> Floats:
    """Orthonormal ones of degree 1 to `degree`. Shape (degree, n)."""
    powers = np.vander(np.linspace(-1, 1, n), degree + 1, increasing=True)
    columns: Floats = np.linalg.qr(powers)[0][:, 1:].T
    return columns


@lru_cache(maxsize=32)
def _leaps(n: int) -> tuple[Places, Floats]:
    """First bin after each leap, shape (m,), and the leaps, centred, shape (m, n)."""
    edge = max(2, round(EDGE * n))
    at = np.arange(edge, n - edge + 1)
    columns = (np.arange(n) >= at[:, None]).astype(float)
    return at, columns - columns.mean(axis=1, keepdims=True)
