"""Groups of runs compared over their seeds: every pair that differs in one axis, five quantities.

A contrast stands in the later of its two groups (levels from easy to hard, else the order of the
groups, null controls before what they are the null of) and is that group's minus the other's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.law.compare import claims, differences, pairs, seed_numbers
from harness.law.compare.differences import MeasuredDifference
from harness.law.compare.groups import Member
from harness.law.compare.pairs import Pair
from harness.law.compare.quantities import CONTRASTED
from harness.law.compare.random_effects import Estimate
from harness.law.group_results import Contrast, Gap, GroupResult

CONTEXTS = "perhaps contexts: not found on entropy/probe"
"""A probe that does not show a difference does not rule one out."""
FEWEST_TO_ASK_FOR = 3
"""Seeds a group; with two an interval is five times wider than the seeds' own spread."""
UNLIKE_FAILURES = 0.02
"""Rates of failed conversations further apart than this may make a difference by themselves."""


@dataclass(frozen=True)
class _Row:
    """One quantity of one pair, with its p among all of them."""

    pair: Pair
    quantity: str
    measured: MeasuredDifference
    p_differs: float | None = None
    p_equivalent: float | None = None


def contrasted(
    groups: Sequence[GroupResult],
    members: Sequence[Member],
    margins: Mapping[str, float],
    pool_unlike: bool,
) -> tuple[GroupResult, ...]:
    """The groups with their contrasts, and with the numbers of each seed for drawing."""
    sides = pairs.sides(groups, members)
    rows = _adjusted(
        [
            _row(pair, quantity, margins[quantity], pool_unlike)
            for pair in pairs.to_compare(sides)
            for quantity in CONTRASTED
        ]
    )
    comparisons = sum(row.measured.incomparable is None for row in rows)
    by_place: dict[int, list[Contrast]] = {}
    for row in rows:
        by_place.setdefault(row.pair.later.place, []).append(_contrast(row, comparisons))
    seeds = seed_numbers.by_place(sides)
    return tuple(
        replace(group, contrasts=by_place.get(place, []), compared=seeds.get(place))
        for place, group in enumerate(groups)
    )


def _row(pair: Pair, quantity: str, margin: float, pool_unlike: bool) -> _Row:
    return _Row(pair, quantity, differences.measure(pair, quantity, margin, pool_unlike))


def _adjusted(rows: Sequence[_Row]) -> list[_Row]:
    """With Holm's p over all quantities and pairs: of a difference, and of none that matters."""
    tested = [
        (i, r.measured.estimate, r.measured.margin)
        for i, r in enumerate(rows)
        if r.measured.estimate
    ]
    differs = claims.holm([claims.p_differs(estimate) for _, estimate, _ in tested])
    equivalent = claims.holm([claims.p_equivalent(e, margin) for _, e, margin in tested])
    adjusted = list(rows)
    for (i, _, _), p, q in zip(tested, differs, equivalent, strict=True):
        adjusted[i] = replace(rows[i], p_differs=p, p_equivalent=q)
    return adjusted


def _contrast(row: _Row, comparisons: int) -> Contrast:
    measured, estimate = row.measured, row.measured.estimate
    decision, why = _decided(row)
    gap = _gap(row.quantity, estimate)
    return Contrast(
        gap.difference,
        gap.low,
        gap.high,
        baseline=dict(row.pair.baseline.key),
        quantity=row.quantity,
        p_holm=row.p_differs,
        decision=decision,
        why=why,
        on=measured.on,
        margin=None if measured.incomparable else measured.margin,
        p_equivalent=row.p_equivalent,
        minimum_detectable=claims.minimum_detectable(estimate, comparisons) if estimate else None,
        seeds=measured.seeds,
        seeds_needed=None if measured.incomparable else _seeds_needed(measured, comparisons),
        on_probe=_gap(row.quantity, measured.probe.estimate) if measured.probe else None,
        unlike_failures=_unlike_failures(row.pair),
        remedy_inactive=_remedy_inactive(row.pair),
        invalid_users=_invalid_users(row.pair),
        net_of_null=_gap(row.quantity, measured.net_of_null) if measured.net_of_null else None,
    )


def _gap(quantity: str, estimate: Estimate | None) -> Gap:
    """The estimate with its interval; that of two onsets reaches no further than the run."""
    if estimate is None:
        return Gap(None, None, None)
    interval = estimate.interval()
    most = 1.0 if quantity == "onset" else math.inf
    return Gap(interval.value, max(interval.low, -most), min(interval.high, most))


def _decided(row: _Row) -> tuple[str, str | None]:
    """The decision and the reason for it, where it needs one."""
    measured = row.measured
    if measured.incomparable is not None:
        return "not_comparable", measured.incomparable
    if measured.estimate is None or row.p_differs is None or row.p_equivalent is None:
        return "undecided", measured.open
    small = row.p_equivalent < claims.LEVEL
    if row.p_differs < claims.LEVEL:
        if measured.probe is not None and not measured.probe.shows(measured.estimate):
            return "differs", CONTEXTS
        return "differs", "smaller than the margin" if small else None
    return ("equivalent", None) if small else ("undecided", "neither shown nor ruled out")


def _seeds_needed(measured: MeasuredDifference, comparisons: int) -> int | None:
    """Seeds a group that would settle it; with one seed a lower bound, from its own error."""
    if measured.estimate is not None:
        return claims.seeds_needed(measured.estimate.spreads, measured.margin, comparisons)
    if min(measured.seeds) > 1:
        return None
    errors = (measured.own_error, measured.own_error)
    needed = claims.seeds_needed(errors, measured.margin, comparisons)
    return None if needed is None else max(needed, FEWEST_TO_ASK_FOR)


def _unlike_failures(pair: Pair) -> tuple[float, float] | None:
    """Both rates of failed conversations, this group's first, where they differ too much."""
    rates = differences.failures(pair)
    return rates if rates and abs(rates[0] - rates[1]) > UNLIKE_FAILURES else None


def _remedy_inactive(pair: Pair) -> int:
    """Runs of both groups whose remedy never acted: they are runs without one."""
    return sum(m.result.remedy_acted == 0 for side in pair.sides for m in side.members)


def _invalid_users(pair: Pair) -> int:
    """Runs of both groups that train on users who are not valid: R is no reward for empathy."""
    return sum(m.identity.invalid_users for side in pair.sides for m in side.members)
