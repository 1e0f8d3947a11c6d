"""How far a series moves, and how much it wobbles, with errors that allow for autocorrelation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import binning, estimate, numbers
from harness.law.results import Floats

FEWEST_FOR_A_CURVE = 4
BATCHES = 8


@dataclass(frozen=True)
class Move:
    """From the first step to the last, by the fitted line, and its standard error."""

    value: float
    se: float


def move(steps: Floats, values: Floats) -> Move | None:
    """None below 4 points."""
    n = len(steps)
    if n < FEWEST_FOR_A_CURVE:
        return None
    time = numbers.centred(steps) / float(steps[-1] - steps[0])
    power = float(time @ time)
    slope = float(time @ values) / power
    left = numbers.centred(values) - slope * time
    rho = estimate.lag1(left)
    variance = float(left @ left) / (n - 2) / power * (1 + rho) / (1 - rho)
    return Move(slope, variance**0.5)


@dataclass(frozen=True)
class Wobble:
    """The noise of a series around a smooth course."""

    sd: float
    tau: float
    """(1 + rho) / (1 - rho): how many neighbouring points are worth one."""
    t: float
    """Student's t of a two-sided 95% interval, for n / tau - 2 degrees of freedom."""

    def half_width(self, n: int) -> float:
        """Of the 95% interval of a mean of n neighbouring values."""
        return self.t * self.sd / math.sqrt(max(n / self.tau, 1.0))


def wobble(values: Floats, degree: int = 3) -> Wobble:
    """Around a polynomial in time of that degree. At least degree + 2 values."""
    n = len(values)
    basis = _polynomials(n, degree)
    left = values - basis @ (basis.T @ values)
    rho = estimate.lag1(left, degree + 1)
    tau = (1 + rho) / (1 - rho)
    t = numbers.t_quantile(0.975, max(n / tau - 2, 1))
    return Wobble((float(left @ left) / (n - degree - 1)) ** 0.5, tau, t)


@lru_cache(maxsize=8)
def _polynomials(n: int, degree: int) -> Floats:
    """Orthonormal on n equal steps, shape (n, degree + 1)."""
    basis: Floats = np.linalg.qr(np.vander(np.linspace(-1, 1, n), degree + 1))[0]
    return basis


def batch_half_width(values: Floats) -> float:
    """Of the 95% interval of the mean, from 8 blocks of time around a parabola. n >= 8."""
    label = binning.labels(len(values), BATCHES)
    blocks = wobble(binning.means(values, label), degree=2)
    return numbers.t_quantile(0.975, BATCHES - 3) * blocks.sd / math.sqrt(BATCHES)
