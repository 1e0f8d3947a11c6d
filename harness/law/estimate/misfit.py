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
from harness.law.estimate.bins import Places
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
        few = self.bins / MOST_BINS
        seen = self.p < SMOOTH_LEVEL * few**2 or self.leap_f > LEAP_F / few**0.5
        level = DIRECTED_LEVEL * min(1.0, (100 / self.bins) ** 4)
        lenient = suspected and few < 1
        shares = (
            self.share if seen and self.share > SMALLEST_SHARE else 0.0,
            self._directed(self.bends, 1, level * (SUSPECTED_BENDS if lenient else 1)),
            self._directed(self.late, -1, level * (SUSPECTED_LATE if lenient else 1)),
        )
        return max(shares)

    def _directed(self, found: Score | None, sign: int, level: float) -> float:
        """Return the misfit of a score test, or 0 if its p is above `level`, its weight does not
        have `sign` (for a > 0), or it is too small.
        """
        if found is None or not found.p < level or not found.weight * sign * self.moved > 0:
            return 0.0
        share = found.size / abs(self.moved)
        return share if share > SMALLEST_DIRECTED else 0.0


def test(line: FittedLine) -> Misfit | None:
    """Test the fit of a line; None if there are too few bins, or no residuals, or a is 0."""
    run = score.bin_residuals(line)
    count, moved = len(run.left), line.a * float(np.ptp(run.x))
    if count < 3 * (DEGREE + 2) or not run.left @ run.left > 0 or not moved:
        return None
    smooth = score.score_test(run, score.polynomials(count, DEGREE))
    f, at, leap = _leap(run)
    share = max(smooth.size, leap) / abs(moved)
    many = count >= FEWEST_FOR_BENDS
    bends, late = (_bends(run), _late(run)) if many else (None, None)
    return Misfit(smooth.p, f, at, count, share, bends, late, moved)


def _bends(run: Residuals) -> Score | None:
    """Test the part of exp(H) that is no trend in the step. Under the law R follows it with the
    same a.

    A reward that depends on the step alone can agree with the trend of H, but not with its bends.
    """
    count = len(run.x)
    trend = score.polynomials(count, TREND_DEGREE)
    around = _around(run.x, NEAR, max(2, count // FAR))
    bends = around - (trend @ around) @ trend
    return _along(run, bends, BENDS_NOISE)


def _late(run: Residuals) -> Score | None:
    count = len(run.x)
    back, beside = count // LAG, max(1, count // SMOOTHED)
    window = np.full(2 * beside + 1, 1 / (2 * beside + 1))
    smoothed = np.convolve(np.pad(run.x, beside, mode="edge"), window, "valid")
    earlier = np.concatenate([np.full(back, smoothed[0]), smoothed[:-back]])
    return _along(run, numbers.centred(earlier), LATE_NOISE)


def _along(run: Residuals, column: Floats, degree: int) -> Score | None:
    """Return the score test against one column; None if the column is zero."""
    length = float(np.linalg.norm(column))
    if not length > 1e-9 * float(np.linalg.norm(run.x)):
        return None
    return score.score_test(run, column[None] / length, score.polynomials(len(column), degree))


def _around(values: Floats, near: int, far: int) -> Floats:
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
    at, columns = _leaps(len(run.left))
    along = run.direction
    apart = columns - np.outer(columns @ along, along)
    power, moved = np.einsum("mk,mk->m", apart, apart), apart @ run.left
    usable = power > 1e-9 * len(run.left)
    gain = np.where(usable, moved**2 / np.where(usable, power, 1.0), 0.0)
    best = int(np.argmax(gain))
    if gain[best] == 0:
        return 0.0, int(at[best]), 0.0
    size = float(moved[best] / power[best])
    left = run.left - along * float(along @ run.left) - size * apart[best]
    if not left @ left > 0:
        return math.inf, int(at[best]), abs(size)
    rho = estimate.lag1(left, 4)
    row = apart[best : best + 1]
    variance = float(score.correlated_products(row * score.local_sd(left, 4, rho), rho)[0, 0])
    return float(moved[best]) ** 2 / variance, int(at[best]), abs(size)


@lru_cache(maxsize=32)
def _leaps(n: int) -> tuple[Places, Floats]:
    """Return the first bin after each leap, shape (m,), and the centred leaps, shape (m, n)."""
    edge = max(2, round(EDGE * n))
    at = np.arange(edge, n - edge + 1)
    columns = (np.arange(n) >= at[:, None]).astype(float)
    return at, columns - columns.mean(axis=1, keepdims=True)
