"""A test of fit: does what the law leaves of R move with the step, or does R follow H otherwise?

Four courses beside the law are looked for by a score test (score.py): a smooth one in the step, a
leap at some step, the bends of H that R does not follow as it follows its trend, and an H of
earlier steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import estimate, numbers, score
from harness.law.estimate.bins import Places
from harness.law.estimate.estimate import Line
from harness.law.estimate.score import MOST_BINS, Residuals, Score
from harness.law.results import Floats

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
FEWEST_FOR_BENDS = 80
"""Bins from which on bends of H and earlier H are looked at. With 60 they deny the law to 2 to 4%
of lawful runs."""
DIRECTED_LEVEL = 0.001
"""Level of these two tests at 100 bins; with more it shrinks with their fourth power, since the
polynomial finds there what they are for."""
SUSPECTED_BENDS, SUSPECTED_LATE = 20.0, 50.0
"""Times the level where another curve is the better one and the bins are fewer than MOST_BINS."""
TREND_DEGREE = 2
"""Of the polynomial in the step that is the trend of H; what it leaves are its bends."""
NEAR, FAR = 1, 20
"""The bends of H at a bin are read off its neighbours: beyond the NEAR ones next to it, whose noise
is its own, a FAR-th of the run to either side."""
LAG, SMOOTHED = 10, 40
"""An earlier H is that of a tenth of the run ago, smoothed over a fortieth to either side."""
BENDS_NOISE, LATE_NOISE = 4, 6
"""Degrees of the polynomials in the step that are taken out before the noise is measured."""
SMALLEST_SHARE, SMALLEST_DIRECTED = 0.1, 0.2
"""What is left, as a share of what the law moved R by, that is worth calling a misfit: a smooth
course or a leap, and bends or an earlier H, which move R by more where R follows them."""


@dataclass(frozen=True)
class Misfit:
    """What moves R beside the law."""

    p: float
    """Of a smooth course beside the law."""
    leap_f: float
    leap_at: int
    """Index of the first bin after the leap."""
    bins: int
    share: float
    """The larger of both, peak to peak, as a share of what the law moves R by."""
    bends: Score | None
    """How surely R does not follow the bends of H; None in short runs, like `late`."""
    late: Score | None
    """How surely R follows an earlier H."""
    moved: float
    """By the law, in units of R; below 0 where a is."""

    def size(self, suspected: bool = False) -> float:
        """The largest misfit as a share of what the law moves R by; 0 where none is beyond noise
        and a tenth of that. `suspected`: another curve fits the same points better.
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
        """Share of a column with that sign beside a law of a above 0, below that level."""
        if found is None or not found.p < level or not found.weight * sign * self.moved > 0:
            return 0.0
        share = found.size / abs(self.moved)
        return share if share > SMALLEST_DIRECTED else 0.0


def test(line: Line) -> Misfit | None:
    """None where the bins are too few for the polynomial or nothing is left to explain."""
    run = score.of(line)
    count, moved = len(run.left), line.a * float(np.ptp(run.x))
    if count < 3 * (DEGREE + 2) or not run.left @ run.left > 0 or not moved:
        return None
    smooth = score.along(run, score.polynomials(count, DEGREE))
    f, at, leap = _leap(run)
    share = max(smooth.size, leap) / abs(moved)
    many = count >= FEWEST_FOR_BENDS
    bends, late = (_bends(run), _late(run)) if many else (None, None)
    return Misfit(smooth.p, f, at, count, share, bends, late, moved)


def _bends(run: Residuals) -> Score | None:
    """Of the part of exp(H) that is no trend in the step: under the law R follows it by the same a.

    A reward that is a curve in the step alone passes for the law along the trend of H, not here.
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
    """The test against one column; None where it is nothing."""
    length = float(np.linalg.norm(column))
    if not length > 1e-9 * float(np.linalg.norm(run.x)):
        return None
    return score.along(run, column[None] / length, score.polynomials(len(column), degree))


def _around(values: Floats, near: int, far: int) -> Floats:
    """The mean of `far` neighbours to either side beyond the `near` next ones, centred; beyond the
    ends, mirrored through the last value. Shape (K,).
    """
    window = np.zeros(2 * (near + far) + 1)
    window[:far] = window[-far:] = 0.5 / far
    reach = near + far
    first, last = 2 * values[0] - values[reach:0:-1], 2 * values[-1] - values[-2 : -reach - 2 : -1]
    mirrored = np.concatenate([first, values, last])
    return numbers.centred(np.convolve(mirrored, window, "valid"))


def _leap(run: Residuals) -> tuple[float, int, float]:
    """F of the best leap of R beside the law, where it is, and its size."""
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
    variance = float(score.carried(row * score.local_sd(left, 4, rho), rho)[0, 0])
    return float(moved[best]) ** 2 / variance, int(at[best]), abs(size)


@lru_cache(maxsize=32)
def _leaps(n: int) -> tuple[Places, Floats]:
    """First bin after each leap, shape (m,), and the leaps, centred, shape (m, n)."""
    edge = max(2, round(EDGE * n))
    at = np.arange(edge, n - edge + 1)
    columns = (np.arange(n) >= at[:, None]).astype(float)
    return at, columns - columns.mean(axis=1, keepdims=True)
