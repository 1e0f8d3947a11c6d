"""Select the rows that a verdict refers to: all rows of a run, or those before its onset.

If a law breaks at the onset of collapse, the rows after it follow no law, and numbers of the whole
run would mix both parts. All callers take the numbers of the law from this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.law import verdict
from harness.law.estimate import breaks, identifiability
from harness.law.estimate.estimate import FittedLine
from harness.law.estimate.identifiability import LawFit
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io.clean import Points
from harness.law.result_parts import Rival
from harness.law.results import Identifiability, LawNumbers, LeastSquares, Onset
from harness.law.verdict import Verdict


@dataclass(frozen=True)
class Span:
    """The part of a run that its law was judged on, and whether there is a law at all."""

    until: float | None = None
    """The step of the onset before which the law was judged; None for all rows."""
    fails: bool = False

    def of(self, points: Points) -> Points:
        """Return the points inside the span."""
        return points if self.until is None else points.where(points.steps < self.until)


WHOLE = Span()


@dataclass(frozen=True)
class JudgedLaw:
    """A verdict, and the law it refers to."""

    verdict: Verdict
    fitted: LawFit
    """The law on the rows of `span`."""
    whole: LawFit
    """The law on all rows."""
    span: Span

    @property
    def identified(self) -> Identifiability:
        """Whether a and the ceiling may be quoted.

        Both are False if the law fails or R is linear in H. The ceiling is False if the form is
        open, because it depends on the form.
        """
        if self.span.fails or self.verdict.word == "linear":
            return Identifiability(a=False, ceiling=False)
        identified = identifiability.judge_identifiability(self.fitted)
        return (
            replace(identified, ceiling=False)
            if self.verdict.word == "holds_form_open"
            else identified
        )


def judge(
    whole: LawFit,
    onset: Onset | None,
    course: BinnedEntropy | None,
    intervened: bool,
    shape: breaks.BinnedRun | None = None,
    rival_scores: Mapping[str, Rival] | None = None,
) -> JudgedLaw:
    """Judge one fit, and fit the rows that the verdict refers to. Arguments as in verdict.judge."""
    run_verdict = verdict.judge(whole, onset, course, intervened, shape, rival_scores)
    span = Span(_until(run_verdict, onset), fails=run_verdict.word == "fails")
    if span.until is None:
        return JudgedLaw(run_verdict, whole, whole, span)
    rows = span.of(whole.points)
    before = run_verdict.before or identifiability.fit(rows, plain=rows)
    return JudgedLaw(run_verdict, before, whole, span)


def _until(run_verdict: Verdict, onset: Onset | None) -> float | None:
    """Return the step of a collapse at which the law broke, or may have broken, else None.

    A run that is undetermined because of such a break is cut as well: the rows after the break
    would often give numbers that are far off, with a narrow interval.
    """
    if onset is None or not onset.is_collapse:
        return None
    doubted = run_verdict.word == "undetermined" and "law_break" in run_verdict.reasons
    return onset.step if doubted or run_verdict.word == "holds_until_onset" else None


def numbers_of(law: JudgedLaw) -> dict[str, Any]:
    """Return the numbers of the rows that the verdict refers to, by their names in LawNumbers."""
    numbers = _numbers(law.fitted, law.identified)
    return {field.name: getattr(numbers, field.name) for field in fields(numbers)}


def numbers_of_all(law: JudgedLaw) -> LawNumbers:
    """Return the numbers of all rows."""
    return _numbers(law.whole, identifiability.judge_identifiability(law.whole))


def _numbers(fitted: LawFit, identified: Identifiability) -> LawNumbers:
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


def _reliability(ols: LeastSquares, line: FittedLine) -> float | None:
    ratio = ols.a / line.a if line.a else math.inf
    return ratio if math.isfinite(ratio) else None
