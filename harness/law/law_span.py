"""The law that a verdict speaks of: on all rows of a run, or on those before its onset.

Where a law breaks at the onset of collapse, the rows after it belong to no law: numbers of the
whole run would be a mean of what was and what came. So every reader takes the numbers from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.law import verdict
from harness.law.estimate import breaks, identifiability
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import Points
from harness.law.prediction_results import Rival
from harness.law.results import Identified, Onset
from harness.law.verdict import Verdict


@dataclass(frozen=True)
class Span:
    """The part of a run that its law was judged on, and whether there is a law at all."""

    until: float | None = None
    """The step of the onset before which it was judged; None: all rows."""
    fails: bool = False

    def of(self, points: Points) -> Points:
        """The points inside it."""
        return points if self.until is None else points.where(points.steps < self.until)


WHOLE = Span()


@dataclass(frozen=True)
class JudgedLaw:
    """A verdict, and the law it speaks of."""

    verdict: Verdict
    fitted: Fitted
    """On the rows of `span`."""
    whole: Fitted
    """On all rows."""
    span: Span

    @property
    def identified(self) -> Identified:
        """Neither number where the law fails or R follows a line in H: they are of no law then. No
        ceiling where the form is open: it is that of one form.
        """
        if self.span.fails or self.verdict.word == "linear":
            return Identified(a=False, ceiling=False)
        known = identifiability.identified(self.fitted)
        return replace(known, ceiling=False) if self.verdict.word == "holds_form_open" else known


def judge(
    whole: Fitted,
    onset: Onset | None,
    course: BinnedEntropy | None,
    intervened: bool,
    shape: breaks.Binned | None = None,
    compared: Mapping[str, Rival] | None = None,
) -> JudgedLaw:
    """Judge one fit, and fit the part that the verdict speaks of; arguments as verdict.judge's."""
    judged = verdict.judge(whole, onset, course, intervened, shape, compared)
    span = Span(_until(judged, onset), fails=judged.word == "fails")
    if span.until is None:
        return JudgedLaw(judged, whole, whole, span)
    rows = span.of(whole.points)
    before = judged.before or identifiability.fit(rows, plain=rows)
    return JudgedLaw(judged, before, whole, span)


def _until(judged: Verdict, onset: Onset | None) -> float | None:
    """The step of a collapse at which the law broke, or may have broken.

    Of a run left undetermined for such a break the rows after it would settle the numbers too:
    often far off, and with a narrow interval.
    """
    if onset is None or not onset.is_collapse:
        return None
    doubted = judged.word == "undetermined" and "law_break" in judged.reasons
    return onset.step if doubted or judged.word == "holds_until_onset" else None
