"""Does the law hold in this run? holds, holds_until_onset, fails or undetermined, with reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.law import breaks, estimate, interval, onset
from harness.law.breaks import Break
from harness.law.clean import Points
from harness.law.estimate import LeastSquares, Line
from harness.law.interval import Spread
from harness.law.onset import Course
from harness.law.results import Onset

FEWEST_POINTS = 16
FEWEST_EFFECTIVE = 7.0
WEAK_FIRST_STAGE = 10.0
"""First-stage F below which x is noise as far as the instrument can tell."""
LARGEST_RELATIVE_A = 0.5
LARGEST_CEILING = 0.05
NO_MOVE = 0.08
"""Reward that exp(H) could have moved, at most, for its absence to say: no relation."""
BREAK_MOVE = 0.04

REASONS = {
    "too_few_steps": "fewer than 16 points, or worth fewer than 7 independent ones",
    "wrong_sign": "reward falls as entropy falls: a is below 0",
    "no_relation": "exp(H) moves and the reward does not follow",
    "identification_range": "H covers too narrow a range to tell a from 0",
    "law_break": "after some step the reward leaves what the law predicts from H",
    "reward_falls_while_entropy_falls": "reward rises and then falls, while H goes on falling",
    "entropy_rises": "H rises again after its trough",
    "intervened": "a remedy acts on entropy; the law is not claimed there",
    "not_validated_out_of_time": "fitted on the first half, it predicts the second no better "
    "than the last value",
}


@dataclass(frozen=True)
class Fitted:
    """The law fitted to one reward column. None where no number can be computed."""

    points: Points
    line: Line | None
    spread: Spread | None
    ols: LeastSquares | None


@dataclass(frozen=True)
class Verdict:
    """One of results.VERDICTS, why, and the step at which the law breaks if it does."""

    word: str
    reasons: tuple[str, ...]
    law_break: float | None
    skill: float | None
    """Out of time: 1 - squared error of the law / of the last value, first half to second."""


def fit(points: Points) -> Fitted:
    line = estimate.fit(points.entropy, points.reward)
    spread = interval.spread(line) if line is not None else None
    return Fitted(points, line, spread, estimate.least_squares(points.x, points.reward))


def enough(fitted: Fitted) -> bool:
    """Enough points, and enough independent ones, to say anything."""
    spread = fitted.spread
    if spread is None:
        return len(fitted.points) >= FEWEST_POINTS
    return len(fitted.points) >= FEWEST_POINTS and spread.n_eff >= FEWEST_EFFECTIVE


def identified(fitted: Fitted) -> dict[str, bool]:
    """Whether a, and whether the ceiling, is known well enough to be quoted."""
    line, spread = fitted.line, fitted.spread
    if line is None or spread is None or not enough(fitted):
        return {"a": False, "ceiling": False}
    strong = line.first_stage_f > WEAK_FIRST_STAGE
    a = interval.half_width(spread.a) < LARGEST_RELATIVE_A * abs(line.a)
    ceiling = interval.half_width(spread.ceiling) <= LARGEST_CEILING
    return {"a": bool(strong and a), "ceiling": bool(strong and ceiling)}


def judge(fitted: Fitted, found: Onset | None, run: Course | None, intervened: bool) -> Verdict:
    """The verdict on one fit; `found` is the run's onset, `run` its course of H."""
    word, reasons = _by_interval(fitted)
    broken: Break | None = None
    skill = None
    if len(fitted.points) >= FEWEST_POINTS and fitted.line is not None:
        shape = breaks.binned(fitted.points)
        broken = _broken(breaks.law_break(shape), fitted.line)
        skill = out_of_time_skill(fitted.points)
        word, reasons = _by_shape(word, reasons, fitted, shape, broken, found, run)
    if intervened:
        reasons += ("intervened",)
    if word == "holds" and skill is not None and skill <= 0:
        reasons += ("not_validated_out_of_time",)
    return Verdict(word, reasons, broken.step if broken else None, skill)


def _by_interval(fitted: Fitted) -> tuple[str, tuple[str, ...]]:
    if not enough(fitted):
        return "undetermined", ("too_few_steps",)
    if fitted.line is None or fitted.spread is None:
        return "undetermined", ("identification_range",)
    a = fitted.spread.a
    if a.high < 0:
        return "fails", ("wrong_sign",)
    if a.low <= 0:
        could_move = (abs(a.value) + interval.half_width(a)) * float(np.ptp(fitted.line.x))
        if could_move < NO_MOVE:
            return "fails", ("no_relation",)
        return "undetermined", ("identification_range",)
    return "holds", ()


def _by_shape(
    word: str,
    reasons: tuple[str, ...],
    fitted: Fitted,
    shape: breaks.Binned,
    broken: Break | None,
    found: Onset | None,
    run: Course | None,
) -> tuple[str, tuple[str, ...]]:
    """What the course of R and H says; run even when the interval decides nothing."""
    if broken is not None:
        if found is not None and found.kind != "explosion" and _held_before(fitted.points, found):
            return "holds_until_onset", ("law_break",)
        word, reasons = "fails", (*_without_range(reasons), "law_break")
    if breaks.falls_after_rise(shape):
        word, reasons = "fails", (*_without_range(reasons), "reward_falls_while_entropy_falls")
    if run is not None:
        over_trough, over_start = onset.rise(run)
        if over_trough > 0.4:
            failed = over_start > 0 or over_trough > 0.7
            word = "fails" if failed else ("undetermined" if word == "holds" else word)
            reasons = (*reasons, "entropy_rises")
    return word, reasons


def _without_range(reasons: tuple[str, ...]) -> tuple[str, ...]:
    """A misfit widens the interval, so that not being identified is no reason beside it."""
    return tuple(r for r in reasons if r not in ("identification_range", "too_few_steps"))


def _broken(best: Break, line: Line) -> Break | None:
    law_move = abs(line.a) * float(np.ptp(line.x))
    large = best.unexplained > max(0.25 * law_move, BREAK_MOVE)
    return best if best.f > breaks.BREAK_F and large else None


def _held_before(points: Points, found: Onset) -> bool:
    before = fit(points.where(points.steps < found.step))
    return before.spread is not None and before.spread.a.low > 0 and len(before.points) >= 8


def out_of_time_skill(points: Points) -> float | None:
    """Of the law fitted on the first half, told the H of the second; None below 16 points."""
    half = len(points) // 2
    line = estimate.fit(points.entropy[:half], points.reward[:half])
    if len(points) < FEWEST_POINTS or line is None:
        return None
    truth = points.reward[half:]
    predicted = line.b - line.a * points.x[half:]
    last = points.reward[max(0, half - max(1, half // 10)) : half].mean()
    against = float(((truth - last) ** 2).sum())
    if against <= 0:
        return None
    return 1 - float(((truth - predicted) ** 2).sum()) / against
