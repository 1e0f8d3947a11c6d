"""Test the pairs of a link for each verdict, and adjust the p for looks and for other links.

The three tests are: is there a difference in the stated direction, is there one in the opposite
direction, and is a difference of the margin ruled out? Each is one-sided at half of `claims.LEVEL`,
like one side of a 95% interval. So p are two-sided, and set to 1 if the difference has the wrong
sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.compare import claims
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.compare.worst_case import LostPair
from harness.records.study_file import Link

SIGNS: Mapping[str, int] = {"more": 1, "less": -1, "earlier": -1}
ROUNDING = 1e-12


@dataclass(frozen=True)
class VerdictPValues:
    """The p of each verdict that a link can have."""

    supported: float
    contradicted: float
    no_effect: float


@dataclass(frozen=True)
class LinkTestResult:
    """The results of the tests of a link, with p not adjusted for other links or looks."""

    estimate: Estimate
    """The difference that is judged, net of the null controls if the link asks for that."""
    plain: Estimate
    p: VerdictPValues
    p_at_worst: VerdictPValues
    """The p with every diverged pair at the least favourable end of its range."""
    against: Estimate | None
    """The difference with diverged pairs at the end of their ranges against the stated direction;
    None if no pair diverged or the range has no such end."""
    towards: Estimate | None
    """The difference with diverged pairs at the end of their ranges in the stated direction."""


@dataclass(frozen=True)
class LinkTestAtLook:
    """A tested link, and the factors on its p that account for earlier looks."""

    tested: LinkTestResult
    alone: float | None
    """Factor for the link by itself; None if no error is left to spend."""
    together: float | None
    """Factor for the link as one of all links of its family."""


def paired_estimate(differences: Sequence[float]) -> Estimate | None:
    """Return the mean with its standard error; None below two values, or if all are equal."""
    values = np.array(differences, dtype=float)
    if len(values) < FEWEST_SEEDS:
        return None
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    alike = error <= ROUNDING * max(1.0, float(np.abs(values).max()))
    return None if alike else Estimate(float(values.mean()), error, len(values) - 1)


def run_link_test(
    link: Link,
    differences: Mapping[int, float],
    net: Mapping[int, float] | None,
    lost_pairs: Mapping[int, LostPair],
) -> LinkTestResult | None:
    """Test the pairs of a link; None if there are too few or they have no spread."""
    sign = SIGNS[link.direction]
    estimates = _estimates(differences, net)
    if estimates is None:
        return None
    p = verdict_p_values(estimates, sign, link.margin)
    if not lost_pairs:
        return LinkTestResult(*estimates, p, p, None, None)
    against, towards = (
        _estimates_at_end(differences, net, lost_pairs, side) for side in (-sign, sign)
    )
    adverse = verdict_p_values(against, sign, link.margin)
    favourable = verdict_p_values(towards, sign, link.margin)
    worst = VerdictPValues(
        max(p.supported, adverse.supported),
        max(p.contradicted, favourable.contradicted),
        max(p.no_effect, favourable.no_effect),
    )
    return LinkTestResult(*estimates, p, worst, against and against[0], towards and towards[0])


def adjust_p(
    tests: Sequence[LinkTestAtLook], deciding: bool, at_worst: bool = False
) -> list[VerdictPValues]:
    """Adjust the p of links for looks, and by Holm over the links of the family.

    `deciding`: the links must all be supported, which needs no Holm correction of `supported` (an
    intersection-union test, Berger 1982).
    """
    p = [test.tested.p_at_worst if at_worst else test.tested.p for test in tests]
    together = [test.together for test in tests]
    alone = [_times(values.supported, test.alone) for values, test in zip(p, tests, strict=True)]
    supported = alone if deciding else _holm([values.supported for values in p], together)
    contradicted = _holm([values.contradicted for values in p], together)
    no_effect = _holm([values.no_effect for values in p], together)
    return [
        VerdictPValues(*p_values)
        for p_values in zip(supported, contradicted, no_effect, strict=True)
    ]


def _holm(p: Sequence[float], factors: Sequence[float | None]) -> list[float]:
    return claims.holm([_times(value, factor) for value, factor in zip(p, factors, strict=True)])


def _times(p: float, factor: float | None) -> float:
    return 1.0 if factor is None else min(1.0, p * factor)


def _estimates(
    differences: Mapping[int, float], net: Mapping[int, float] | None
) -> tuple[Estimate, Estimate] | None:
    """Return the estimates of the judged and of the plain difference; None if either is None."""
    plain = paired_estimate(list(differences.values()))
    judged = plain if net is None else paired_estimate(list(net.values()))
    return None if judged is None or plain is None else (judged, plain)


def verdict_p_values(
    estimates: tuple[Estimate, Estimate] | None, sign: int, margin: float
) -> VerdictPValues:
    """Return the p of each verdict; all are 1 if there is no estimate."""
    if estimates is None:
        return VerdictPValues(1.0, 1.0, 1.0)
    return VerdictPValues(
        max(_p_beyond(estimate, sign) for estimate in estimates),
        max(_p_beyond(estimate, -sign) for estimate in estimates),
        claims.p_short(estimates[0], sign, margin),
    )


def _p_beyond(estimate: Estimate, sign: int) -> float:
    """Return the two-sided p of no difference; 1 if the difference has the other sign."""
    return claims.p_differs(estimate) if sign * estimate.value > 0 else 1.0


def _estimates_at_end(
    differences: Mapping[int, float],
    net: Mapping[int, float] | None,
    lost_pairs: Mapping[int, LostPair],
    side: int,
) -> tuple[Estimate, Estimate] | None:
    """Return the estimates with lost pairs at one end of their ranges; None if it is infinite."""
    judged = {seed: pair.high if side > 0 else pair.low for seed, pair in lost_pairs.items()}
    plain = {
        seed: pair.plain[side > 0] for seed, pair in lost_pairs.items() if pair.plain is not None
    }
    if not all(map(math.isfinite, (*judged.values(), *plain.values()))):
        return None
    if net is None:
        return _estimates({**differences, **judged}, None)
    return _estimates({**differences, **plain}, {**net, **judged})
