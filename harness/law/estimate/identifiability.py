"""Fit the law to points, and decide whether its numbers are precise enough to be quoted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.law.estimate import estimate, interval, misfit, spikes
from harness.law.estimate.estimate import FittedLine
from harness.law.estimate.interval import LawIntervals
from harness.law.estimate.misfit import Misfit
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Identifiability, LeastSquares

FEWEST_EFFECTIVE = 7.0
WEAK_FIRST_STAGE = 10.0
"""First-stage F below which the instrument cannot tell x from noise."""
SAME_A = 0.10
LARGEST_RELATIVE_A = 0.5
LARGEST_CEILING = 0.5
"""Largest half-width of the ceiling's interval, in standard deviations of R over the run."""


@dataclass(frozen=True)
class FittedCurve:
    """R = b - a f(H) by the instrument, for one f, with cached intervals and test of fit."""

    line: FittedLine | None

    @cached_property
    def spread(self) -> LawIntervals | None:
        return interval.law_intervals(self.line) if self.line is not None else None

    @cached_property
    def misfit(self) -> Misfit | None:
        return misfit.test(self.line) if self.line is not None else None


@dataclass(frozen=True)
class LawFit:
    """The law fitted to one reward column. None where a number cannot be computed."""

    points: Points
    """The points without glitches."""
    calm: Points
    """The points without glitches and spikes."""
    line: FittedLine | None
    spread: LawIntervals | None
    ols: LeastSquares | None

    @cached_property
    def misfit(self) -> Misfit | None:
        """Movement of R that the law does not explain; None if it cannot be tested."""
        return misfit.test(self.line) if self.line is not None else None

    @cached_property
    def linear_in_h(self) -> FittedCurve:
        """The line of R on H itself instead of exp(H)."""
        return FittedCurve(estimate.through(self.calm.entropy, self.calm.reward))


def fit(points: Points, plain: Points | None = None) -> LawFit:
    """Fit the law to logged points. Pass `plain`, the points without glitches, if it is known.

    Only least squares uses the points as logged, so that it agrees with a script that does not
    remove glitches.
    """
    plain = spikes.remove_glitches(points) if plain is None else plain
    calm = spikes.clip_spikes(plain)
    line = estimate.fit(calm.entropy, calm.reward)
    spread = interval.law_intervals(line) if line is not None else None
    return LawFit(plain, calm, line, spread, estimate.least_squares(points.x, points.reward))


def has_enough_points(fitted: LawFit) -> bool:
    """Return whether there are enough points, and enough independent ones, for a verdict."""
    if len(fitted.points) < FEWEST_POINTS:
        return False
    return fitted.spread is None or fitted.spread.n_eff >= FEWEST_EFFECTIVE


def judge_identifiability(fitted: LawFit) -> Identifiability:
    """Return whether a is known to within half of itself, and the ceiling to half of R's sd."""
    line, spread = fitted.line, fitted.spread
    if line is None or spread is None or not has_enough_points(fitted):
        return Identifiability(a=False, ceiling=False)
    moves = entropy_moves(fitted)
    a = interval.half_width(spread.a) < LARGEST_RELATIVE_A * abs(line.a)
    ceiling = interval.half_width(spread.ceiling) <= LARGEST_CEILING * float(
        np.std(fitted.calm.reward)
    )
    return Identifiability(a=bool(moves and a), ceiling=bool(moves and ceiling))


def entropy_moves(fitted: LawFit) -> bool:
    """Return whether exp(H) moved more than its noise, whatever the size of a."""
    line, varies = fitted.line, bool(np.ptp(fitted.points.reward))
    if line is None:
        return False
    return line.first_stage_f > WEAK_FIRST_STAGE or (varies and _same_slope(fitted.ols, line))


def _same_slope(ols: LeastSquares | None, line: FittedLine) -> bool:
    """Return whether noise in H is negligible: least squares, which it shrinks, gives the same a.

    The first stage cannot tell a fall within one bin from noise, but this test can. It does not
    apply to a constant reward, whose a is 0 by both methods.
    """
    return ols is not None and abs(ols.a - line.a) <= SAME_A * abs(line.a)
