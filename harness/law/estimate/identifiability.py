"""The law fitted to points, and whether its numbers are known well enough to be quoted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.law.estimate import estimate, interval, misfit, spikes
from harness.law.estimate.estimate import Line
from harness.law.estimate.interval import Spread
from harness.law.estimate.misfit import Misfit
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Identified, LeastSquares

FEWEST_EFFECTIVE = 7.0
WEAK_FIRST_STAGE = 10.0
"""First-stage F below which x is noise as far as the instrument can tell."""
SAME_A = 0.10
LARGEST_RELATIVE_A = 0.5
LARGEST_CEILING = 0.5
"""Half-width of the ceiling's interval in standard deviations of R over the run, at most."""


@dataclass(frozen=True)
class Curve:
    """R = b - a f(H) by the instrument, for one f. What is asked of it twice is reckoned once."""

    line: Line | None

    @cached_property
    def spread(self) -> Spread | None:
        return interval.spread(self.line) if self.line is not None else None

    @cached_property
    def misfit(self) -> Misfit | None:
        return misfit.test(self.line) if self.line is not None else None


@dataclass(frozen=True)
class Fitted:
    """The law fitted to one reward column. None where no number can be computed."""

    points: Points
    """Without glitches."""
    calm: Points
    """Those without spikes."""
    line: Line | None
    spread: Spread | None
    ols: LeastSquares | None

    @cached_property
    def misfit(self) -> Misfit | None:
        """What moves R beside the law; None where that cannot be tested."""
        return misfit.test(self.line) if self.line is not None else None

    @cached_property
    def along_h(self) -> Curve:
        """The line through R and H itself, in place of exp(H)."""
        return Curve(estimate.through(self.calm.entropy, self.calm.reward))


def fit(points: Points, plain: Points | None = None) -> Fitted:
    """Fits points as they were logged; `plain`: the same without glitches, where they are known.

    Least squares alone is of the points as logged: it is what a script gives that knows nothing of
    glitches.
    """
    plain = spikes.plain(points) if plain is None else plain
    calm = spikes.calm(plain)
    line = estimate.fit(calm.entropy, calm.reward)
    spread = interval.spread(line) if line is not None else None
    return Fitted(plain, calm, line, spread, estimate.least_squares(points.x, points.reward))


def enough(fitted: Fitted) -> bool:
    """Enough points, and enough independent ones, to say anything."""
    if len(fitted.points) < FEWEST_POINTS:
        return False
    return fitted.spread is None or fitted.spread.n_eff >= FEWEST_EFFECTIVE


def identified(fitted: Fitted) -> Identified:
    """Whether a is known to within half of itself, and the ceiling to within half of R's sd."""
    line, spread = fitted.line, fitted.spread
    if line is None or spread is None or not enough(fitted):
        return Identified(a=False, ceiling=False)
    moved = moves(fitted)
    a = interval.half_width(spread.a) < LARGEST_RELATIVE_A * abs(line.a)
    ceiling = interval.half_width(spread.ceiling) <= LARGEST_CEILING * float(
        np.std(fitted.calm.reward)
    )
    return Identified(a=bool(moved and a), ceiling=bool(moved and ceiling))


def moves(fitted: Fitted) -> bool:
    """Whether exp(H) moved more than its noise. Unlike `identified`, blind to how large a is."""
    line, varies = fitted.line, bool(np.ptp(fitted.points.reward))
    if line is None:
        return False
    return line.first_stage_f > WEAK_FIRST_STAGE or (varies and _same(fitted.ols, line))


def _same(ols: LeastSquares | None, line: Line) -> bool:
    """Whether noise in H is too small to matter: least squares, which it shrinks, gives this a.

    The first stage cannot tell a fall steeper than the bins from noise; this can, but for a reward
    that never varies, whose a is 0 by either.
    """
    return ols is not None and abs(ols.a - line.a) <= SAME_A * abs(line.a)
