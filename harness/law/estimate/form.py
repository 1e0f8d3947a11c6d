"""Determine the form in which R follows H: the law's exp(H), a line in H, either, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.law.estimate import identifiability, rivals
from harness.law.estimate.identifiability import FittedCurve, LawFit
from harness.law.estimate.misfit import Misfit
from harness.law.result_parts import Rival

BETTER = 10.0
"""Difference in AICc above which another curve counts as better."""
CONFIRMED = 0.05
"""Significance level at which the test of fit confirms a break of the law."""


@dataclass(frozen=True)
class Form:
    """Results of the rivals and the test of fit for a law over the whole run."""

    linear: bool
    """Whether R follows a line in H, which is better than exp(H) by more than 10 AICc."""
    is_open: bool
    """Whether exp(H) is not better than a line in H."""
    misfit: float
    """Movement of R that exp(H) does not explain, as a share of its movement by the law; 0 if none
    is significant. If the form is open, that by a line in H is taken if it is smaller."""
    rival_better: bool
    """Whether some curve is better than the law by more than 10 AICc."""


def form_of(law: LawFit, rival_scores: Mapping[str, Rival] | None) -> Form:
    """Return the form of a fit. `law` must have a line; `rival_scores` are those on its points,
    None if there are too few.
    """
    scores = rival_scores or {}
    linear_delta = scores["linear_in_h"].delta_aicc if scores else 0.0
    best = min((rival.delta_aicc for rival in scores.values()), default=0.0)
    is_open = linear_delta < rivals.TELLS_APART
    better = best < -BETTER
    return Form(
        linear=linear_delta < -BETTER and _follows(law.linear_in_h),
        is_open=is_open,
        misfit=misfit_of_either(law, better) if is_open else _size(law.misfit, better),
        rival_better=better,
    )


def misfit_of_either(law: LawFit, suspected: bool = False) -> float:
    """Return the smaller misfit of exp(H) and a line in H. `suspected`: another curve is better."""
    exp_misfit = _size(law.misfit, suspected)
    return min(exp_misfit, _size(law.linear_in_h.misfit, suspected)) if exp_misfit else 0.0


def confirms_break(law: LawFit) -> bool:
    """Return whether the test of fit rejects the law too, or cannot be made.

    The test of fit uses the instrument. The F of a break uses means of exp(H), whose noise shrinks
    a and can leave a trend in the residuals.
    """
    return law.misfit is None or law.misfit.p < CONFIRMED


def _follows(curve: FittedCurve) -> bool:
    """Return whether R rises as H falls along this curve, without a misfit."""
    spread = curve.spread
    if spread is None or spread.n_eff < identifiability.FEWEST_EFFECTIVE:
        return False
    return spread.a.low > 0 and not _size(curve.misfit)


def _size(misfit: Misfit | None, suspected: bool = False) -> float:
    return misfit.size(suspected) if misfit is not None else 0.0
