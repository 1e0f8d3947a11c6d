"""The three questions to the pairs of a link, and their p adjusted for looks and for other links.

Is there a difference as stated? Is there one the other way? Is one of the margin ruled out? Each is
asked one-sided at half of `claims.LEVEL`, as the side of a 95% interval answers it, so that p are
two-sided ones that are set to 1 where the difference points away from what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.compare import claims
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.compare.worst_case import Lost
from harness.records.study_file import Link

SIGNS: Mapping[str, int] = {"more": 1, "less": -1, "earlier": -1}
ROUNDING = 1e-12


@dataclass(frozen=True)
class Evidence:
    """p of each word that a link can have."""

    supported: float
    contradicted: float
    no_effect: float


@dataclass(frozen=True)
class Tested:
    """The pairs of a link asked all three questions; p are of this link and this look alone."""

    estimate: Estimate
    """Of the difference that is judged, net of the null controls where that is asked."""
    plain: Estimate
    p: Evidence
    p_at_worst: Evidence
    """The same with every pair that diverged as far as can be from what is asked."""
    against: Estimate | None
    """The difference with those pairs away from what the link states; None where none diverged or
    where that could be any number."""
    towards: Estimate | None
    """The same with them as it states."""


@dataclass(frozen=True)
class Asked:
    """A link that was tested, and what its p are multiplied by for the looks before."""

    tested: Tested
    alone: float | None
    """As a link by itself; None where no error is left."""
    together: float | None
    """As one of all the links of its family."""


def paired(differences: Sequence[float]) -> Estimate | None:
    """Their mean with its standard error; None below two, or where all are the same."""
    values = np.array(differences, dtype=float)
    if len(values) < FEWEST_SEEDS:
        return None
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    alike = error <= ROUNDING * max(1.0, float(np.abs(values).max()))
    return None if alike else Estimate(float(values.mean()), error, len(values) - 1)


def test(
    link: Link,
    differences: Mapping[int, float],
    net: Mapping[int, float] | None,
    lost: Mapping[int, Lost],
) -> Tested | None:
    """None where the pairs are too few or have no spread."""
    sign = SIGNS[link.direction]
    found = _estimates(differences, net)
    if found is None:
        return None
    p = evidence(found, sign, link.margin)
    if not lost:
        return Tested(*found, p, p, None, None)
    against, towards = (_with_lost(differences, net, lost, side) for side in (-sign, sign))
    adverse = evidence(against, sign, link.margin)
    kind = evidence(towards, sign, link.margin)
    worst = Evidence(
        max(p.supported, adverse.supported),
        max(p.contradicted, kind.contradicted),
        max(p.no_effect, kind.no_effect),
    )
    return Tested(*found, p, worst, against and against[0], towards and towards[0])


def adjusted(asked: Sequence[Asked], deciding: bool, at_worst: bool = False) -> list[Evidence]:
    """For the looks and, but for what links that decide together state, by Holm over the links.

    Links that must all hold need no correction for that (an intersection-union test, Berger 1982).
    """
    p = [one.tested.p_at_worst if at_worst else one.tested.p for one in asked]
    together = [one.together for one in asked]
    alone = [_times(one.supported, a.alone) for one, a in zip(p, asked, strict=True)]
    supported = alone if deciding else _holm([one.supported for one in p], together)
    contradicted = _holm([one.contradicted for one in p], together)
    no_effect = _holm([one.no_effect for one in p], together)
    return [Evidence(*three) for three in zip(supported, contradicted, no_effect, strict=True)]


def _holm(p: Sequence[float], prices: Sequence[float | None]) -> list[float]:
    return claims.holm([_times(one, price) for one, price in zip(p, prices, strict=True)])


def _times(p: float, price: float | None) -> float:
    return 1.0 if price is None else min(1.0, p * price)


def _estimates(
    differences: Mapping[int, float], net: Mapping[int, float] | None
) -> tuple[Estimate, Estimate] | None:
    """What is judged, and the plain difference."""
    plain = paired(list(differences.values()))
    judged = plain if net is None else paired(list(net.values()))
    return None if judged is None or plain is None else (judged, plain)


def evidence(found: tuple[Estimate, Estimate] | None, sign: int, margin: float) -> Evidence:
    """p of 1 where nothing is found."""
    if found is None:
        return Evidence(1.0, 1.0, 1.0)
    return Evidence(
        max(_p_beyond(one, sign) for one in found),
        max(_p_beyond(one, -sign) for one in found),
        claims.p_short(found[0], sign, margin),
    )


def _p_beyond(estimate: Estimate, sign: int) -> float:
    """Two-sided, of no difference; 1 where it points the other way."""
    return claims.p_differs(estimate) if sign * estimate.value > 0 else 1.0


def _with_lost(
    differences: Mapping[int, float],
    net: Mapping[int, float] | None,
    lost: Mapping[int, Lost],
    side: int,
) -> tuple[Estimate, Estimate] | None:
    """The estimates with the lost pairs at one end of their ranges; None where that has no end."""
    judged = {seed: one.high if side > 0 else one.low for seed, one in lost.items()}
    plain = {seed: one.plain[side > 0] for seed, one in lost.items() if one.plain is not None}
    if not all(map(math.isfinite, (*judged.values(), *plain.values()))):
        return None
    if net is None:
        return _estimates({**differences, **judged}, None)
    return _estimates({**differences, **plain}, {**net, **judged})
