"""The verdict on the law in one run, with reasons: does R follow exp(H), and until when?"""

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
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.result_parts import Rival
from harness.law.results import Onset

NO_MOVE = 1.5
"""Reward that exp(H) could have moved, at most, for its absence to say: no relation. In standard
deviations of one row's noise, as all that is small is measured in R's own noise and range."""
SMALLEST_SLOPE = 2.0
"""The same for a unit of exp(H): the smallest slope that matters. Where H hardly moves R moves by
little under any law, so only an interval of a that rules this slope out says: no relation."""
HARDLY_MOVES = 0.22
"""How far exp(H) goes over the run on binned means, below which R may turn or leave it by noise:
there nothing but the interval of a says that the law fails."""
BENDS_F = 4.0
"""F of a knot in R from which on it bends somewhere."""
RISES, RISES_FAR = 0.4, 0.7
"""log H above its trough at the end, that is suspicious, and that rules the law out."""
SPENT = 0.4
"""log H of the trough below the start, from which on H was spent, and a rise takes it back."""
RISES_HEADROOM = 0.05
"""Share of the initial headroom that a rise must win back to matter to the law."""
SHORT_Z, SUSPECT_Z = 2.0, 0.0
"""Shortfall after the onset, in standard errors: a break by the law of the steps before; a doubt
by the law of the whole run."""

VALIDATED_FROM_STEPS = 1000
"""From a run this long on, `holds` asks for skill out of time; in shorter ones too many true laws
would fail it."""

LARGE_MISFIT = 0.25
"""Share of what the law moves R by, that something else may move it by without denying the law."""
EXCUSES = ("identification_range", "too_few_steps")
"""Reasons that a misfit produces by itself: it widens the interval and the autocorrelation."""
BY_INTERVAL = {"wrong_sign", "no_relation"}
"""Reasons to fail that come from the interval of a."""
LOOKS = (*EXCUSES, "law_break")
"""What the law may look like where R follows a line in H."""
DOUBTS = ("not_validated_out_of_time", "entropy_rises")
"""Reasons that can stand beside a law that holds."""


@dataclass(frozen=True)
class Verdict:
    """One of results.VERDICTS, why, and the step at which the law breaks if it does."""

    word: str
    reasons: tuple[str, ...]
    law_break: float | None = None
    skill: float | None = None
    """Out of time: 1 - squared error of the law / of the last value (forecast.py)."""
    before: Fitted | None = None
    """The law before the onset, where it holds until then."""

    def because(self, word: str, reason: str) -> Verdict:
        """Another word, for a reason that makes the excuses void."""
        kept = tuple(r for r in self.reasons if r not in EXCUSES)
        return replace(self, word=word, reasons=(*kept, reason))


@dataclass(frozen=True)
class _Parts:
    """A run before its onset and from it on."""

    fitted: Fitted
    """The whole."""
    onset: float
    """Its step; infinite where there is none."""

    @cached_property
    def before(self) -> Fitted:
        """Fitted where it is asked for: an explosion or a spent budget without a break do not."""
        points = self.fitted.points
        if self.onset == np.inf:
            return self.fitted
        before = points.where(points.steps < self.onset)
        return identifiability.fit(before, plain=before)

    @property
    def after(self) -> Points:
        return self.fitted.points.where(self.fitted.points.steps >= self.onset)


def judge(
    fitted: Fitted,
    onset: Onset | None,
    run: BinnedEntropy | None,
    intervened: bool,
    shape: breaks.Binned | None = None,
    compared: Mapping[str, Rival] | None = None,
) -> Verdict:
    """The verdict on one fit; `onset` is the run's onset, `run` its course of H, `shape` that of
    its points and `compared` the rivals' where they are known already.

    The shape of the run is looked at even when the interval decides nothing, since a law that
    breaks half way is what makes the interval wide.
    """
    verdict = _by_interval(fitted)
    many = len(fitted.points) >= FEWEST_POINTS
    if many and fitted.line is not None:
        shape = shape or breaks.binned(fitted.calm)
        verdict = _by_break(verdict, fitted, shape, onset)
        turns = breaks.falls_after_rise(shape, collapsed=onset is not None)
        if turns and verdict.word != "holds_until_onset":
            verdict = verdict.because("fails", "reward_falls_while_entropy_falls")
        if float(np.ptp(shape.x)) < HARDLY_MOVES:
            verdict = _left_open(verdict)
        verdict = replace(verdict, skill=forecast.out_of_time(fitted.line.x, fitted.line.reward))
    if many and run is not None:
        verdict = _by_rise(verdict, run)
    if verdict.word == "holds":
        verdict = _by_skill(verdict, fitted.points)
    if many and fitted.line is not None and _may_follow(verdict):
        verdict = _by_form(verdict, fitted, compared or rivals.compare(fitted.points))
    if regime.reward_died(fitted.points) is not None:
        verdict = replace(verdict, reasons=(*verdict.reasons, "reward_died"))
    if intervened:
        verdict = replace(verdict, reasons=(*verdict.reasons, "intervened"))
    return verdict


def _by_interval(fitted: Fitted) -> Verdict:
    if not identifiability.enough(fitted):
        return Verdict("undetermined", ("too_few_steps",))
    if fitted.line is None or fitted.spread is None:
        return Verdict("undetermined", ("identification_range",))
    a = fitted.spread.a
    if a.high < 0:
        return Verdict("fails", ("wrong_sign",))
    if a.low > 0:
        return Verdict("holds", ())
    steepest = abs(a.value) + interval.half_width(a)
    noise = interval.wobble(fitted.calm.reward).sd
    moved = steepest * float(np.ptp(fitted.line.x))
    slight = steepest < SMALLEST_SLOPE * noise and moved < NO_MOVE * noise
    constant = not identifiability.moves(fitted) and not np.ptp(fitted.points.reward)
    if slight and not constant:  # of two that never move nothing is known
        return Verdict("fails", ("no_relation",))
    return Verdict("undetermined", ("identification_range",))


def _by_break(
    verdict: Verdict, fitted: Fitted, shape: breaks.Binned, onset: Onset | None
) -> Verdict:
    """Applies a break of the law to the verdict; before a collapse the law may have held."""
    assert fitted.line is not None
    fall = onset if onset is not None and onset.kind == "terminal_fall" else None
    parts = _Parts(fitted, np.inf if onset is None else onset.step)
    best = breaks.law_break(shape)
    broken = best.f > breaks.BREAK_F and breaks.matters(best.unexplained, fitted.line, shape)
    broken = broken and form.confirms_break(fitted)
    step = best.step
    if fall is not None and not broken:
        short = breaks.shortfall(parts.before, parts.after)
        broken = short is not None and short.z > SHORT_Z
        broken = broken and short is not None and breaks.matters(short.reward, fitted.line, shape)
        step = fall.step
    if broken:
        bends = shape.reward_knot.f > BENDS_F
        return replace(_broken(verdict, onset, parts, bends), law_break=step)
    whole = breaks.shortfall(fitted, parts.after) if fall is not None else None
    if verdict.word == "holds" and whole is not None and whole.z > SUSPECT_Z:
        return verdict.because("undetermined", "law_break")
    return verdict


def _broken(verdict: Verdict, onset: Onset | None, parts: _Parts, bends: bool) -> Verdict:
    """Whether the law held until the onset, where it is broken; a reward that goes on as before
    (not `bends`) did not follow an H that fell off.
    """
    if onset is None or onset.kind == "explosion" or parts.before.spread is None:
        return verdict.because("fails", "law_break")
    a = parts.before.spread.a
    if a.low > 0 and bends:
        return replace(verdict.because("holds_until_onset", "law_break"), before=parts.before)
    if a.low > 0:
        return verdict.because("undetermined", "law_break")
    if onset.kind == "terminal_fall" and a.high > 0:
        undecided = verdict.because("undetermined", "law_break")
        return replace(undecided, reasons=(*undecided.reasons, "identification_range"))
    return verdict.because("fails", "law_break")


def _left_open(verdict: Verdict) -> Verdict:
    """Where exp(H) hardly moves, a turn or a break of R denies the law to nobody."""
    if verdict.word != "fails" or set(verdict.reasons) & BY_INTERVAL:
        return verdict
    return replace(verdict, word="undetermined", reasons=(*verdict.reasons, "identification_range"))


def _may_follow(verdict: Verdict) -> bool:
    """Whether nothing speaks against a law but what a line in H would look like as well."""
    if verdict.word == "fails":
        return verdict.reasons == ("law_break",)
    return set(verdict.reasons) <= {*LOOKS, *DOUBTS}


def _by_form(verdict: Verdict, fitted: Fitted, compared: Mapping[str, Rival] | None) -> Verdict:
    """Applies the test of fit, and whether R follows H by the law's form or along a line.

    A line in H leaves the law somewhere, so it is looked at before a break of the law is believed.
    """
    if verdict.before is not None:
        share = form.of_either(verdict.before)
        return _misfitting(verdict, verdict.before, share) if share else verdict
    found = form.of(fitted, compared)
    if found.linear:
        kept = tuple(reason for reason in verdict.reasons if reason not in LOOKS)
        return replace(verdict, word="linear", reasons=kept, law_break=None)
    if verdict.word != "holds":
        return verdict
    if found.misfit:
        verdict = _misfitting(verdict, fitted, found.misfit)
    elif found.is_open:
        verdict = replace(verdict, word="holds_form_open")
    better = ("rival_better",) if found.rival_better else ()
    return replace(verdict, reasons=(*verdict.reasons, *better))


def _misfitting(verdict: Verdict, law: Fitted, share: float) -> Verdict:
    """Where a is not known a misfit may be of the noise of H; and a small one beside the law leaves
    open whether R follows H.
    """
    large = share > LARGE_MISFIT and identifiability.identified(law).a
    word = "fails" if large else "undetermined"
    return replace(verdict.because(word, "misfit"), before=None)


def _by_rise(verdict: Verdict, run: BinnedEntropy) -> Verdict:
    """An H that was spent and comes back leaves the law, whatever R does; one that rises without
    having been spent says nothing of whether R follows it.
    """
    end = run.rise
    if end.over_trough <= RISES or end.headroom < RISES_HEADROOM:
        return verdict
    if end.over_trough - end.over_start < SPENT:
        return replace(verdict, reasons=(*verdict.reasons, "entropy_rises"))
    if end.over_start > 0 or end.over_trough > RISES_FAR:
        return verdict.because("fails", "entropy_rises")
    word = "undetermined" if verdict.word == "holds" else verdict.word
    return replace(verdict, word=word, reasons=(*verdict.reasons, "entropy_rises"))


def _by_skill(verdict: Verdict, points: Points) -> Verdict:
    """Reported for a short run, required of a long one, and of one whose H rose: a reward that
    stops on the way passes for the law else.
    """
    if verdict.skill is not None and verdict.skill > 0:
        return verdict
    long = points.steps[-1] - points.steps[0] + 1 >= VALIDATED_FROM_STEPS
    required = long or "entropy_rises" in verdict.reasons
    word = "undetermined" if required else verdict.word
    return replace(verdict, word=word, reasons=(*verdict.reasons, "not_validated_out_of_time"))
