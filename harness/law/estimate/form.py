"""The form in which R follows H: the law's exp(H), a line in H, either, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.law.estimate import identifiability, rivals
from harness.law.estimate.identifiability import Curve, Fitted
from harness.law.estimate.misfit import Misfit
from harness.law.result_parts import Rival

BETTER = 10.0
"""Difference in AICc from which on another curve is called the better one."""
CONFIRMED = 0.05
"""Level of the test of fit that confirms a break of the law."""


@dataclass(frozen=True)
class Form:
    """What rivals and the test of fit say of a law over the whole run."""

    linear: bool
    """R follows a line in H, and exp(H) is the worse curve by more than 10 AICc."""
    is_open: bool
    """Of exp(H) and a line in H neither is the better curve."""
    misfit: float
    """Of what the law moves R by, the share that something moves it by beside exp(H), or beside H
    where that is less and the form is open; 0 where nothing does."""
    rival_better: bool
    """Some curve is better than the law by more than 10 AICc."""


def of(law: Fitted, compared: Mapping[str, Rival] | None) -> Form:
    """`law` has a line; `compared` are the rivals on its points, None where these are too few."""
    scores = compared or {}
    ahead = scores["linear_in_h"].delta_aicc if scores else 0.0
    best = min((rival.delta_aicc for rival in scores.values()), default=0.0)
    is_open = ahead < rivals.TELLS_APART
    better = best < -BETTER
    return Form(
        linear=ahead < -BETTER and _follows(law.along_h),
        is_open=is_open,
        misfit=of_either(law, better) if is_open else _size(law.misfit, better),
        rival_better=better,
    )


def of_either(law: Fitted, suspected: bool = False) -> float:
    """The misfit beside exp(H) or that beside H, whichever is less; `suspected`: another curve is
    the better one.
    """
    beside_exp = _size(law.misfit, suspected)
    return min(beside_exp, _size(law.along_h.misfit, suspected)) if beside_exp else 0.0


def confirms_break(law: Fitted) -> bool:
    """Whether the test of fit sees something too. It uses the instrument; the F of a break uses
    means of exp(H), whose noise shrinks a and leaves R a course of its own.
    """
    return law.misfit is None or law.misfit.p < CONFIRMED


def _follows(curve: Curve) -> bool:
    """Whether R rises as H falls along this line, and nothing else moves it."""
    spread = curve.spread
    if spread is None or spread.n_eff < identifiability.FEWEST_EFFECTIVE:
        return False
    return spread.a.low > 0 and not _size(curve.misfit)


def _size(found: Misfit | None, suspected: bool = False) -> float:
    return found.size(suspected) if found is not None else 0.0
