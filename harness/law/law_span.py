"""The law that a verdict speaks of: on all rows of a run, or on those before its onset.

Where a law breaks at the onset of collapse, the rows after it belong to no law: numbers of the
whole run would be a mean of what was and what came. So every reader takes the numbers from here,
as a row of law.json has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.law import verdict
from harness.law.estimate import breaks, identifiability
from harness.law.estimate.estimate import Line
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import Points
from harness.law.result_parts import Rival
from harness.law.results import Identified, LawNumbers, LeastSquares, Onset
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


def numbers_of(law: JudgedLaw) -> dict[str, Any]:
    """The numbers of the rows that the verdict speaks of, by their names in LawNumbers."""
    numbers = _numbers(law.fitted, law.identified)
    return {field.name: getattr(numbers, field.name) for field in fields(numbers)}


def numbers_of_all(law: JudgedLaw) -> LawNumbers:
    """The numbers of all rows."""
    return _numbers(law.whole, identifiability.identified(law.whole))


def _numbers(fitted: Fitted, identified: Identified) -> LawNumbers:
    line, spread, ols = fitted.line, fitted.spread, fitted.ols
    return LawNumbers(
        n_fitted=len(fitted.points),
        n_eff=spread.n_eff if spread else None,
        a=spread.a if spread else None,
        b=spread.b if spread else None,
        ceiling=spread.ceiling if spread else None,
        cov_ab=spread.cov_ab if spread else None,
        identified=identified,
        reliability=_reliability(ols, line) if ols and line else None,
        ols=ols,
    )


def _reliability(ols: LeastSquares, line: Line) -> float | None:
    ratio = ols.a / line.a if line.a else math.inf
    return ratio if math.isfinite(ratio) else None
