"""Average the reward at H = 0 over the curves in H that the points cannot tell apart.

The curves are R = b - a f(H) with f(H) = exp(H), H or log(1 + H), and have the weights
exp(-AICc / 2) (Burnham and Anderson 2002, section 2.9). The error of the average includes the error
of each curve and their disagreement (Buckland, Burnham and Augustin 1997). The curves disagree more
the further the lowest observed H lies above 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from harness.law.estimate import bins, estimate, interval
from harness.law.estimate.identifiability import FittedCurve, LawFit
from harness.law.result_parts import CeilingOverForms, Rival
from harness.law.results import Floats, Interval

FORMS: dict[str, Callable[[Floats], Floats]] = {
    "law": np.exp,
    "linear_in_h": np.asarray,
    "log_1_plus_h": np.log1p,
}
"""Name of the curve in `rivals` -> f. All are finite at H = 0."""
LEAST_WEIGHT = 0.003
"""Curves with a smaller weight are left out."""
HALF_WIDTHS_OF_SPREAD = 2.5
"""Factor that turns a curve's distance from the average into a half-width, comparable to that of a
95% interval."""


def average_over_forms(
    law: LawFit, rival_scores: Mapping[str, Rival] | None, bounds: tuple[float, float] | None
) -> CeilingOverForms | None:
    """Return the averaged reward at H = 0; None if the curves were not compared, or if one with
    weight has no interval.

    `bounds`: lowest and highest possible reward, if known. The result is clipped to them.
    """
    if rival_scores is None or law.spread is None:
        return None
    best = min(rival_scores[name].aicc for name in FORMS)
    odds = {name: math.exp((best - rival_scores[name].aicc) / 2) for name in FORMS}
    odds = {name: odd for name, odd in odds.items() if odd >= LEAST_WEIGHT * sum(odds.values())}
    weights = {name: odd / sum(odds.values()) for name, odd in odds.items()}
    by_form = {name: _at_zero(law, name) for name in weights}
    if any(at_zero is None for at_zero in by_form.values()):
        return None
    intervals = {name: at_zero for name, at_zero in by_form.items() if at_zero is not None}
    value = sum(weight * intervals[name].value for name, weight in weights.items())
    half = sum(weight * _half(intervals[name], value) for name, weight in weights.items())
    low, high = value - half, value + half
    lowest, highest = bounds or (-math.inf, math.inf)
    return CeilingOverForms(
        value=min(max(value, lowest), highest),
        low=min(max(low, lowest), highest),
        high=min(max(high, lowest), highest),
        weights=weights,
        beyond_nats=_lowest(law.calm.entropy),
        at_bound=high > highest or low < lowest,
    )


def _at_zero(law: LawFit, name: str) -> Interval | None:
    """Return R at H = 0 by one curve, with its 95% interval."""
    if name == "law":
        return law.spread.ceiling if law.spread is not None else None
    spread = _curve(law, name).spread
    return spread.b if spread is not None else None


def _curve(law: LawFit, name: str) -> FittedCurve:
    if name == "linear_in_h":
        return law.linear_in_h
    return FittedCurve(estimate.through(FORMS[name](law.calm.entropy), law.calm.reward))


def _half(at_zero: Interval, value: float) -> float:
    disagreement = HALF_WIDTHS_OF_SPREAD * (at_zero.value - value)
    return math.hypot(interval.half_width(at_zero), disagreement)


def _lowest(entropy: Floats) -> float:
    """Return the lowest mean of H over time bins."""
    return float(np.min(bins.for_fit(len(entropy)).means(entropy)))
