"""Judge the law in one run, with reasons: does R follow exp(H), and until which step?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from harness.law.estimate import (
    breaks,
    forecast,
    form,
    identifiability,
    interval,
    regime,
    rivals,
)
from harness.law.estimate.identifiability import LawFit
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.result_parts import Rival
from harness.law.results import Onset

NO_MOVE = 1.5
"""`no_relation`: the most that exp(H) could have moved the reward, in standard deviations of the
noise of one row. All small effects are measured relative to R's own noise and range."""
SMALLEST_SLOPE = 2.0
"""`no_relation`: the smallest slope that matters, in the same unit per unit of exp(H). If H hardly
moves, R moves little under any law, so the interval of a must also rule out this slope."""
HARDLY_MOVES = 0.22
"""Range of exp(H) on binned means below which noise alone may make R turn or leave the law. Below
it, only the interval of a can make the law fail."""
BENDS_F = 4.0
"""F of a knot in R above which R counts as bent."""
RISES, RISES_FAR = 0.4, 0.7
"""Rise of log H from its trough to the end that casts doubt on the law, and that rules it out."""
SPENT = 0.4
"""Fall of log H from the start to the trough above which H counts as spent before it rises."""
RISES_HEADROOM = 0.05
"""Smallest rise that matters to the law, as a share of the initial headroom."""
SHORT_Z, SUSPECT_Z = 2.0, 0.0
"""Shortfall of R after the onset, in standard errors: relative to the law before the onset it is a
break; relative to the law of the whole run it casts doubt."""

VALIDATED_FROM_STEPS = 1000
"""Runs of at least this many steps need out-of-time skill for `holds`. In shorter runs too many
true laws would be rejected."""

LARGE_MISFIT = 0.25
"""Largest misfit that does not make the law fail, as a share of the movement of R by the law."""
EXCUSES = ("identification_range", "too_few_steps")
"""Reasons that a misfit can cause: it widens the interval and raises the autocorrelation."""
BY_INTERVAL = {"wrong_sign", "no_relation"}
"""Reasons to fail that come from the interval of a."""
LOOKS = (*EXCUSES, "law_break")
"""Reasons that a fit of exp(H) can give when R is linear in H."""
DOUBTS = ("not_validated_out_of_time", "entropy_rises")
"""Reasons that are compatible with a law that holds."""


@dataclass(frozen=True)
class Verdict:
    """One of results.VERDICTS, its reasons, and the step at which the law breaks, if any."""

    word: str
    reasons: tuple[str, ...]
    law_break: float | None = None
    skill: float | None = None
    """Out-of-time skill: 1 - squared error of the law / of the last value (forecast.py)."""
    before: LawFit | None = None
    """The law before the onset, if it holds until then."""

    def with_reason(self, word: str, reason: str) -> Verdict:
        """Return the verdict `word` with `reason` added and EXCUSES removed from the reasons."""
        kept = tuple(r for r in self.reasons if r not in EXCUSES)
        return replace(self, word=word, reasons=(*kept, reason))


@dataclass(frozen=True)
class _Parts:
    """The parts of a run before its onset and from the onset on."""

    fitted: LawFit
    """The law on the whole run."""
    onset: float
    """The step of the onset; infinite if there is none."""

    @cached_property
    def before(self) -> LawFit:
        """The law before the onset. Fitted lazily, because not every verdict needs it."""
        points = self.fitted.points
        if self.onset == np.inf:
            return self.fitted
        before = points.where(points.steps < self.onset)
        return identifiability.fit(before, plain=before)

    @property
    def after(self) -> Points:
        return self.fitted.points.where(self.fitted.points.steps >= self.onset)


def judge(
    fitted: LawFit,
    onset: Onset | None,
    course: BinnedEntropy | None,
    intervened: bool,
    shape: breaks.BinnedRun | None = None,
    rival_scores: Mapping[str, Rival] | None = None,
) -> Verdict:
    """Judge one fit. `onset` is the run's onset and `course` its binned H. Pass `shape` (the binned
    points) and `rival_scores` (the rivals' scores) if they are already computed.

    The shape of the run is tested even if the interval decides nothing, because a law that breaks
    half way makes the interval wide.
    """
    verdict = _by_interval(fitted)
    is_long = len(fitted.points) >= FEWEST_POINTS
    if is_long and fitted.line is not None:
        shape = shape or breaks.bin_run(fitted.calm)
        verdict = _by_break(verdict, fitted, shape, onset)
        falls = breaks.falls_after_rise(shape, collapsed=onset is not None)
        if falls and verdict.word != "holds_until_onset":
            verdict = verdict.with_reason("fails", "reward_falls_while_entropy_falls")
        if float(np.ptp(shape.x)) < HARDLY_MOVES:
            verdict = _leave_open(verdict)
        verdict = replace(verdict, skill=forecast.out_of_time(fitted.line.x, fitted.line.reward))
    if is_long and course is not None:
        verdict = _by_rise(verdict, course)
    if verdict.word == "holds":
        verdict = _by_skill(verdict, fitted.points)
    if is_long and fitted.line is not None and _may_follow(verdict):
        verdict = _by_form(verdict, fitted, rival_scores or rivals.compare(fitted.points))
    if regime.reward_died(fitted.points) is not None:
        verdict = replace(verdict, reasons=(*verdict.reasons, "reward_died"))
    if intervened:
        verdict = replace(verdict, reasons=(*verdict.reasons, "intervened"))
    return verdict


def _by_interval(fitted: LawFit) -> Verdict:
    if not identifiability.has_enough_points(fitted):
        return Verdict("undetermined", ("too_few_steps",))
    if fitted.line is None or fitted.spread is None:
        return Verdict("undetermined", ("identification_range",))
    a = fitted.spread.a
    if a.high < 0:
        return Verdict("fails", ("wrong_sign",))
    if a.low > 0:
        return Verdict("holds", ())
    steepest = abs(a.value) + interval.half_width(a)
    noise = interval.measure_noise(fitted.calm.reward).sd
    movement = steepest * float(np.ptp(fitted.line.x))
    slight = steepest < SMALLEST_SLOPE * noise and movement < NO_MOVE * noise
    constant = not identifiability.entropy_moves(fitted) and not np.ptp(fitted.points.reward)
    if slight and not constant:  # if neither R nor H moves, nothing is known about the relation
        return Verdict("fails", ("no_relation",))
    return Verdict("undetermined", ("identification_range",))


def _by_break(
    verdict: Verdict, fitted: LawFit, shape: breaks.BinnedRun, onset: Onset | None
) -> Verdict:
    """Apply a break of the law to the verdict. Before a collapse the law may have held."""
    assert fitted.line is not None
    fall = onset if onset is not None and onset.kind == "terminal_fall" else None
    parts = _Parts(fitted, np.inf if onset is None else onset.step)
    best = breaks.law_break(shape)
    broken = best.f > breaks.BREAK_F and breaks.is_large(best.unexplained, fitted.line, shape)
    broken = broken and form.confirms_break(fitted)
    step = best.step
    if fall is not None and not broken:
        missing = breaks.shortfall(parts.before, parts.after)
        broken = missing is not None and missing.z > SHORT_Z
        broken = (
            broken and missing is not None and breaks.is_large(missing.reward, fitted.line, shape)
        )
        step = fall.step
    if broken:
        bends = shape.reward_knot.f > BENDS_F
        return replace(_break_verdict(verdict, onset, parts, bends), law_break=step)
    whole_run = breaks.shortfall(fitted, parts.after) if fall is not None else None
    if verdict.word == "holds" and whole_run is not None and whole_run.z > SUSPECT_Z:
        return verdict.with_reason("undetermined", "law_break")
    return verdict


def _break_verdict(verdict: Verdict, onset: Onset | None, parts: _Parts, bends: bool) -> Verdict:
    """Return the verdict on a broken law: did it hold until the onset?

    If R continues as before (not `bends`), it did not follow the fall of H.
    """
    if onset is None or onset.kind == "explosion" or parts.before.spread is None:
        return verdict.with_reason("fails", "law_break")
    a = parts.before.spread.a
    if a.low > 0 and bends:
        return replace(verdict.with_reason("holds_until_onset", "law_break"), before=parts.before)
    if a.low > 0:
        return verdict.with_reason("undetermined", "law_break")
    if onset.kind == "terminal_fall" and a.high > 0:
        undecided = verdict.with_reason("undetermined", "law_break")
        return replace(undecided, reasons=(*undecided.reasons, "identification_range"))
    return verdict.with_reason("fails", "law_break")


def _leave_open(verdict: Verdict) -> Verdict:
    """Turn `fails` into `undetermined`: if exp(H) hardly moves, a break of R proves nothing."""
    if verdict.word != "fails" or set(verdict.reasons) & BY_INTERVAL:
        return verdict
    return replace(verdict, word="undetermined", reasons=(*verdict.reasons, "identification_range"))


def _may_follow(verdict: Verdict) -> bool:
    """Return whether the reasons against the law are all ones that a line in H would give too."""
    if verdict.word == "fails":
        return verdict.reasons == ("law_break",)
    return set(verdict.reasons) <= {*LOOKS, *DOUBTS}


def _by_form(verdict: Verdict, fitted: LawFit, rival_scores: Mapping[str, Rival] | None) -> Verdict:
    """Apply the test of fit and the comparison of the law's form with a line in H.

    A line in H departs from the law at some step, so it is tested before a break is accepted.
    """
    if verdict.before is not None:
        share = form.misfit_of_either(verdict.before)
        return _misfit_verdict(verdict, verdict.before, share) if share else verdict
    run_form = form.form_of(fitted, rival_scores)
    if run_form.linear:
        kept = tuple(reason for reason in verdict.reasons if reason not in LOOKS)
        return replace(verdict, word="linear", reasons=kept, law_break=None)
    if verdict.word != "holds":
        return verdict
    if run_form.misfit:
        verdict = _misfit_verdict(verdict, fitted, run_form.misfit)
    elif run_form.is_open:
        verdict = replace(verdict, word="holds_form_open")
    extra = ("rival_better",) if run_form.rival_better else ()
    return replace(verdict, reasons=(*verdict.reasons, *extra))


def _misfit_verdict(verdict: Verdict, law: LawFit, share: float) -> Verdict:
    """Return `fails` for a large misfit, else `undetermined`.

    If a is not identified, noise of H may cause the misfit. A small misfit leaves open whether R
    follows H.
    """
    large = share > LARGE_MISFIT and identifiability.judge_identifiability(law).a
    word = "fails" if large else "undetermined"
    return replace(verdict.with_reason(word, "misfit"), before=None)


def _by_rise(verdict: Verdict, course: BinnedEntropy) -> Verdict:
    """Apply a rise of H to the verdict.

    If H rises after it was spent, the law fails regardless of R. A rise of an H that was never
    spent is no evidence on whether R follows H.
    """
    rise = course.rise
    if rise.over_trough <= RISES or rise.headroom < RISES_HEADROOM:
        return verdict
    if rise.over_trough - rise.over_start < SPENT:
        return replace(verdict, reasons=(*verdict.reasons, "entropy_rises"))
    if rise.over_start > 0 or rise.over_trough > RISES_FAR:
        return verdict.with_reason("fails", "entropy_rises")
    word = "undetermined" if verdict.word == "holds" else verdict.word
    return replace(verdict, word=word, reasons=(*verdict.reasons, "entropy_rises"))


def _by_skill(verdict: Verdict, points: Points) -> Verdict:
    """Apply out-of-time skill: report it for short runs, require it if the run is long or H rose.

    Without this test, a reward that stops half way would pass as following the law.
    """
    if verdict.skill is not None and verdict.skill > 0:
        return verdict
    is_long = points.steps[-1] - points.steps[0] + 1 >= VALIDATED_FROM_STEPS
    required = is_long or "entropy_rises" in verdict.reasons
    word = "undetermined" if required else verdict.word
    return replace(verdict, word=word, reasons=(*verdict.reasons, "not_validated_out_of_time"))
