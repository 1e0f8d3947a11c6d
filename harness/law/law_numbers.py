"""The numbers of a law as a row of law.json has them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from harness.law.estimate import identifiability
from harness.law.estimate.estimate import Line
from harness.law.estimate.identifiability import Fitted
from harness.law.law_span import JudgedLaw
from harness.law.results import Identified, LawNumbers, LeastSquares


def fields_of(law: JudgedLaw) -> dict[str, Any]:
    """Those of the rows that the verdict speaks of, by their names in LawNumbers."""
    numbers = _numbers(law.fitted, law.identified)
    return {field.name: getattr(numbers, field.name) for field in fields(numbers)}


def whole_run(law: JudgedLaw) -> LawNumbers:
    """Those of all rows."""
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
