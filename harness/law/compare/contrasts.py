"""Compare groups of runs over their seeds: every pair that differs in one axis, five quantities.

One quantity is primary and is tested at most of the analysis' error rate; the others share the rest
(`families`). Variances over seeds are moderated over the groups (`moderation`). A contrast is
stored with the later of its two groups and is that group minus the other. The order is: levels from
easy to hard, else the order of the groups; null controls before the runs they control.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.law.compare import claims, differences, families, moderation, pairs, seed_numbers
from harness.law.compare.differences import MeasuredDifference, PairMeasurement
from harness.law.compare.groups import Member
from harness.law.compare.pairs import GroupPair
from harness.law.compare.quantities import CONTRASTED
from harness.law.compare.random_effects import Estimate
from harness.law.group_results import Contrast, GroupDifference, GroupResult

CONTEXTS = "perhaps due to different contexts: not found on entropy/probe"
"""It says "perhaps", because a probe without a significant difference does not rule one out."""
FEWEST_TO_ASK_FOR = 3
"""Seeds per group. With two, an interval is five times wider than the spread of the seeds."""
UNLIKE_FAILURES = 0.02
"""Rates of failed conversations that differ by more than this may alone cause a difference."""


@dataclass(frozen=True)
class _QuantityTest:
    """One quantity of one pair, with its unadjusted and adjusted p."""

    pair: GroupPair
    quantity: str
    measured: MeasuredDifference
    primary: bool = False
    p: float | None = None
    p_differs: float | None = None
    p_equivalent: float | None = None
    comparisons: float = 1.0
    """The smallest p of the family must be below LEVEL / `comparisons`."""


def add_contrasts(
    groups: Sequence[GroupResult],
    members: Sequence[Member],
    margins: Mapping[str, float],
    pool_unlike: bool,
    primary: str | None = None,
) -> tuple[GroupResult, ...]:
    """Return the groups with their contrasts, and with the numbers of each seed for figures.

    `primary` names the primary quantity. The default order applies if it cannot be tested.
    """
    sides = pairs.compared_groups(groups, members)
    group_pairs = pairs.pairs_to_compare(sides)
    tests = {
        quantity: _compare(
            [
                differences.measure_pair(pair, quantity, margins[quantity], pool_unlike)
                for pair in group_pairs
            ]
        )
        for quantity in CONTRASTED
    }
    rows = _adjust_p(tests, primary)
    by_group: dict[int, list[Contrast]] = {}
    for pair_index, pair in enumerate(group_pairs):
        contrasts = by_group.setdefault(pair.later.place, [])
        contrasts += [_contrast(rows[quantity][pair_index]) for quantity in CONTRASTED]
    numbers = seed_numbers.by_place(sides)
    return tuple(
        replace(group, contrasts=by_group.get(group_index, []), compared=numbers.get(group_index))
        for group_index, group in enumerate(groups)
    )


def _compare(measurements: Sequence[PairMeasurement]) -> list[_QuantityTest]:
    """Compare one quantity of every pair, with variances moderated over all groups."""
    prior = moderation.prior(
        mean for measurement in measurements for mean in measurement.means or ()
    )
    return [
        _QuantityTest(
            measurement.pair, measurement.quantity, differences.compare(measurement, prior)
        )
        for measurement in measurements
    ]


def _adjust_p(
    tests: Mapping[str, Sequence[_QuantityTest]], primary: str | None
) -> dict[str, list[_QuantityTest]]:
    """Fill in the p of a difference and of equivalence, adjusted as described in `families`."""
    tested = {
        quantity: [i for i, row in enumerate(rows) if row.measured.estimate is not None]
        for quantity, rows in tests.items()
    }
    differs_p: dict[str, list[float]] = {}
    equivalent_p: dict[str, list[float]] = {}
    for quantity, indices in tested.items():
        measured = [tests[quantity][i].measured for i in indices]
        estimates = [
            (difference.estimate, difference.margin)
            for difference in measured
            if difference.estimate is not None
        ]
        differs_p[quantity] = [claims.p_differs(estimate) for estimate, _ in estimates]
        equivalent_p[quantity] = [
            claims.p_equivalent(estimate, margin) for estimate, margin in estimates
        ]
    differs, equivalent = (
        families.adjust_families(p_values, primary) for p_values in (differs_p, equivalent_p)
    )
    adjusted = {}
    for quantity, rows in tests.items():
        family = differs[quantity]
        filled = [replace(row, primary=family.primary, comparisons=family.first) for row in rows]
        for position, index in enumerate(tested[quantity]):
            filled[index] = replace(
                filled[index],
                p=differs_p[quantity][position],
                p_differs=family.p[position],
                p_equivalent=equivalent[quantity].p[position],
            )
        adjusted[quantity] = filled
    return adjusted


def _contrast(row: _QuantityTest) -> Contrast:
    measured, estimate, comparisons = row.measured, row.measured.estimate, row.comparisons
    decision, why = _decide(row)
    gap = _group_difference(row.quantity, estimate)
    return Contrast(
        gap.difference,
        gap.low,
        gap.high,
        baseline=dict(row.pair.baseline.key),
        quantity=row.quantity,
        primary=row.primary,
        p=row.p,
        p_holm=row.p_differs,
        decision=decision,
        why=why,
        on=measured.on,
        margin=None if measured.incomparable else measured.margin,
        p_equivalent=row.p_equivalent,
        minimum_detectable=claims.minimum_detectable(estimate, comparisons) if estimate else None,
        seeds=measured.seeds,
        seeds_needed=None if measured.incomparable else _seeds_needed(measured, comparisons),
        on_probe=_group_difference(row.quantity, measured.probe.estimate)
        if measured.probe
        else None,
        unlike_failures=_unlike_failures(row.pair),
        remedy_inactive=_remedy_inactive(row.pair),
        invalid_users=_invalid_users(row.pair),
        net_of_null=_group_difference(row.quantity, measured.net_of_null)
        if measured.net_of_null
        else None,
    )


def _group_difference(quantity: str, estimate: Estimate | None) -> GroupDifference:
    """Return the estimate with its interval; that of onsets is clipped to the length of the run."""
    if estimate is None:
        return GroupDifference(None, None, None)
    interval = estimate.interval()
    limit = 1.0 if quantity == "onset" else math.inf
    return GroupDifference(interval.value, max(interval.low, -limit), min(interval.high, limit))


def _decide(row: _QuantityTest) -> tuple[str, str | None]:
    """Return the decision and, if it needs one, the reason for it."""
    measured = row.measured
    if measured.incomparable is not None:
        return "not_comparable", measured.incomparable
    if measured.estimate is None or row.p_differs is None or row.p_equivalent is None:
        return "undecided", measured.open
    small = row.p_equivalent < claims.LEVEL
    if row.p_differs < claims.LEVEL:
        if measured.probe is not None and not measured.probe.shows(measured.estimate):
            return "differs", CONTEXTS
        return "differs", claims.SMALL if small else None
    return ("equivalent", None) if small else ("undecided", "neither shown nor ruled out")


def _seeds_needed(measured: MeasuredDifference, comparisons: float) -> int | None:
    """Return the seeds per group that decide the contrast.

    If a group has one seed, it is a lower bound from the errors of single runs.
    """
    if measured.estimate is not None:
        return claims.seeds_needed(measured.estimate.spreads, measured.margin, comparisons)
    if min(measured.seeds) > 1:
        return None
    errors = (measured.own_error, measured.own_error)
    needed = claims.seeds_needed(errors, measured.margin, comparisons)
    return None if needed is None else max(needed, FEWEST_TO_ASK_FOR)


def _unlike_failures(pair: GroupPair) -> tuple[float, float] | None:
    """Return both rates of failed conversations, later group first; None unless they differ."""
    rates = differences.failure_rates(pair)
    return rates if rates and abs(rates[0] - rates[1]) > UNLIKE_FAILURES else None


def _remedy_inactive(pair: GroupPair) -> int:
    """Count the runs of both groups whose remedy never acted."""
    return sum(member.result.remedy_acted == 0 for side in pair.sides for member in side.members)


def _invalid_users(pair: GroupPair) -> int:
    """Count the runs of both groups that train on users who are not valid."""
    return sum(member.identity.invalid_users for side in pair.sides for member in side.members)
