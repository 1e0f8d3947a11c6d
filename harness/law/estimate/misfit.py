"""Test the fit of the law: do its residuals move with the step, or does R follow H otherwise?

Score tests (score.py) look for four departures from the law: a smooth function of the step, a leap
at some step, a response to the bends of H that differs from the response to its trend, and a
response to H of earlier steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import estimate, numbers, score
from harness.law.estimate.bins import Indices
from harness.law.estimate.estimate import FittedLine
from harness.law.estimate.score import MOST_BINS, Residuals, Score
from harness.law.results import Floats

DEGREE = 5
"""Degree of the polynomial in the step that models a smooth departure from the law."""
SMOOTH_LEVEL = 0.001
"""Significance level of the test against that polynomial, for MOST_BINS bins. With fewer bins the
level shrinks with their square, because the noise of H and R is not a single AR(1), and short runs
exceed the nominal level tenfold (benchmarks/misfit.md)."""
LEAP_F = 25.0
"""Smallest F of the best of up to 180 leaps, for MOST_BINS bins. With fewer bins it grows with the
square root of MOST_BINS / bins."""
EDGE = 0.05
"""Share of the run at either end in which no leap is sought."""
FEWEST_FOR_BENDS = 80
"""Smallest number of bins for the tests of bends and of earlier H. With 60 bins these tests reject
2 to 4% of the runs that follow the law."""
DIRECTED_LEVEL = 0.001
"""Significance level of these two tests, for up to 100 bins. With more bins it shrinks with their
fourth power, because the polynomial then detects the same departures."""
SUSPECTED_BENDS, SUSPECTED_LATE = 20.0, 50.0
"""Factors on the level if another curve is better and there are fewer than MOST_BINS bins."""
TREND_DEGREE = 2
"""Degree of the polynomial in the step that models the trend of H. Its residuals are the bends."""
NEAR, FAR = 1, 20
"""The bends of H at a bin come from its neighbours: skip NEAR bins on either side, which share
noise with the bin, then average 1 / FAR of the run."""
LAG, SMOOTHED = 10, 40
"""Earlier H is H a tenth of the run ago, smoothed over a fortieth of the run to either side."""
BENDS_NOISE, LATE_NOISE = 4, 6
"""Degrees of the polynomials in the step that are removed before the noise is measured."""
SMALLEST_SHARE, SMALLEST_DIRECTED = 0.1, 0.2
"""Smallest misfit, as a share of the movement of R by the law: for a smooth departure or a leap,
and for bends or earlier H, whose departures are larger when they are real."""


@dataclass(frozen=True)
class Misfit:
    """The departures of R from the law."""

    p: float
    """p of the test for a smooth departure from the law."""
    leap_f: float
    leap_at: int
    """Index of the first bin after the leap."""
    bins: int
    share: float
    """The larger of the smooth departure (peak to peak) and the leap, as a share of the movement of
    R by the law."""
    bends: Score | None
    """Test of a different response to the bends of H; None in short runs, as is `late`."""
    late: Score | None
    """Test of a response to earlier H."""
    moved: float
    """Movement of R by the law, in units of R. It has the sign of a."""

    def size(self, suspected: bool = False) -> float:
        """Return the largest significant misfit as a share of the movement of R by the law.

        0 if no misfit is significant and large enough. `suspected`: another curve fits the same
        points better.
        """
        bin_share = self.bins / MOST_BINS
        is_significant = (
            self.p < SMOOTH_LEVEL * bin_share**2 or self.leap_f > LEAP_F / bin_share**0.5
        )
        level = DIRECTED_LEVEL * min(1.0, (100 / self.bins) ** 4)
        lenient = suspected and bin_share < 1
        shares = (
            self.share if is_significant and self.share > SMALLEST_SHARE else 0.0,
            self._directed_share(self.bends, 1, level * (SUSPECTED_BENDS if lenient else 1)),
            self._directed_share(self.late, -1, level * (SUSPECTED_LATE if lenient else 1)),
        )
        return max(shares)

    def _directed_share(self, result: Score | None, sign: int, level: float) -> float:
        """Return the misfit of a score test, or 0 if its p is above `level`, its weight does not
        have `sign` (for a > 0), or it is too small.
        """
        if result is None or not result.p < level or not result.weight * sign * self.moved > 0:
            return 0.0
        share = result.size / abs(self.moved)
        return share if share > SMALLEST_DIRECTED else 0.0


def test(line: FittedLine) -> Misfit | None:
    """Test the fit of a line; None if there are too few bins, or no residuals, or a is 0."""
    run = score.bin_residuals(line)
    count, movement = len(run.left), line.a * float(np.ptp(run.x))
    if count < 3 * (DEGREE + 2) or not run.left @ run.left > 0 or not movement:
        return None
    smooth = score.score_test(run, score.polynomials(count, DEGREE))
    f, index, leap = _leap(run)
    share = max(smooth.size, leap) / abs(movement)
    many = count >= FEWEST_FOR_BENDS
    bends, late = (_bends(run), _late(run)) if many else (None, None)
    return Misfit(smooth.p, f, index, count, share, bends, late, movement)


def _bends(run: Residuals) -> Score | None:
    """Test the part of exp(H) that is no trend in the step. Under the law R follows it with the
    same a.

    A reward that depends on the step alone can agree with the trend of H, but not with its bends.
    """
    count = len(run.x)
    trend = score.polynomials(count, TREND_DEGREE)
    neighbours = _neighbour_means(run.x, NEAR, max(2, count // FAR))
    bends = neighbours - (trend @ neighbours) @ trend
    return _score_along(run, bends, BENDS_NOISE)


def _late(run: Residuals) -> Score | None:
    count = len(run.x)
    lag, half_window = count // LAG, max(1, count // SMOOTHED)
    window = np.full(2 * half_window + 1, 1 / (2 * half_window + 1))
    smoothed = np.convolve(np.pad(run.x, half_window, mode="edge"), window, "valid")
    earlier = np.concatenate([np.full(lag, smoothed[0]), smoothed[:-lag]])
    return _score_along(run, numbers.centred(earlier), LATE_NOISE)


def _score_along(run: Residuals, column: Floats, degree: int) -> Score | None:
    """Return the score test against one column; None if the column is zero."""
    length = float(np.linalg.norm(column))
    if not length > 1e-9 * float(np.linalg.norm(run.x)):
        return None
    return score.score_test(run, column[None] / length, score.polynomials(len(column), degree))


def _neighbour_means(values: Floats, near: int, far: int) -> Floats:
    """Return the mean of `far` neighbours on either side after skipping `near`, centred. The ends
    are padded by point reflection. Shape (K,).
    """
    window = np.zeros(2 * (near + far) + 1)
    window[:far] = window[-far:] = 0.5 / far
    reach = near + far
    first, last = 2 * values[0] - values[reach:0:-1], 2 * values[-1] - values[-2 : -reach - 2 : -1]
    mirrored = np.concatenate([first, values, last])
    return numbers.centred(np.convolve(mirrored, window, "valid"))


def _leap(run: Residuals) -> tuple[float, int, float]:
    """Return the F, the position and the size of the best leap of R relative to the law."""
    starts, columns = _leaps(len(run.left))
    direction = run.direction
    adjusted = columns - np.outer(columns @ direction, direction)
    power, products = np.einsum("mk,mk->m", adjusted, adjusted), adjusted @ run.left
    usable = power > 1e-9 * len(run.left)
    gain = np.where(usable, products**2 / np.where(usable, power, 1.0), 0.0)
    best = int(np.argmax(gain))
    if gain[best] == 0:
        return 0.0, int(starts[best]), 0.0
    size = float(products[best] / power[best])
    residuals = run.left - direction * float(direction @ run.left) - size * adjusted[best]
    if not residuals @ residuals > 0:
        return math.inf, int(starts[best]), abs(size)
    rho = estimate.lag1(residuals, 4)
    row = adjusted[best : best + 1]
    variance = float(score.correlated_products(row * score.local_sd(residuals, 4, rho), rho)[0, 0])
    return float(products[best]) ** 2 / variance, int(starts[best]), abs(size)


@lru_cache(maxsize=32)
def _leaps(n: int) -> tuple[Indices, Floats]:
    """Return the first bin after each leap, shape (m,), and the centred leaps, shape (m, n)."""
    edge = max(2, round(EDGE * n))
    starts = np.arange(edge, n - edge + 1)
    columns = (np.arange(n) >= starts[:, None]).astype(float)
    return starts, columns - columns.mean(axis=1, keepdims=True)
