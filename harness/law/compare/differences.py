"""Compare one quantity of two groups: is it comparable, on which column, and what differs?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.law.compare import (
    claims,
    incomparable,
    quantities,
    random_effects,
    reward_column,
    scales,
)
from harness.law.compare.comparison_basis import (
    ComparisonBasis,
    restrict_to_horizon,
    restrict_to_shared_range,
)
from harness.law.compare.moderation import GroupMean, Prior
from harness.law.compare.pairs import ComparedGroup, GroupPair
from harness.law.compare.quantities import QUANTITIES
from harness.law.compare.random_effects import NORMAL_95, Estimate, MeanDifference, Sample
from harness.law.results import Interval
from harness.law.settings import setting

ON_VISITED_STATES = ("a", "onset", "fall")
"""Quantities that can also be measured with H on frozen prefixes."""


@dataclass(frozen=True)
class ProbeDifference:
    """A difference on frozen prefixes; `estimate` is None if no run has an onset there."""

    estimate: Estimate | None

    def shows(self, visited: Estimate) -> bool:
        """Return whether the probe has a significant difference of the same sign."""
        on_probe = self.estimate
        if on_probe is None or (on_probe.value > 0) != (visited.value > 0):
            return False
        return claims.p_differs(on_probe) < claims.LEVEL


@dataclass(frozen=True)
class MeasuredDifference:
    """One quantity of two groups over their seeds."""

    margin: float
    """The margin, in the unit of the quantity if there is an estimate."""
    on: str | None = None
    """The reward column, if one is used."""
    seeds: tuple[int, int] = (0, 0)
    """The numbers of seeds with a value in the later group and in the baseline."""
    estimate: MeanDifference | None = None
    """The later group minus the baseline."""
    probe: ProbeDifference | None = None
    """The difference with H on the frozen prefixes; None if it was not measured, or if the visited
    states show no difference."""
    net_of_null: Estimate | None = None
    """For gain and fall, the estimate from runs minus their null controls; None unless all runs
    have one."""
    own_error: float = 0.0
    """Standard error of one run by its own interval, a lower bound on the spread over seeds."""
    incomparable: str | None = None
    """The reason why the groups cannot be compared."""
    open: str | None = None
    """The reason why comparable groups have no estimate."""


@dataclass(frozen=True)
class PairMeasurement:
    """One quantity of two groups, measured but not yet compared."""

    pair: GroupPair
    quantity: str
    column: str | None
    known: MeasuredDifference
    """The result if there is no estimate."""
    means: tuple[GroupMean, GroupMean] | None = None
    """The means of the later group and of the baseline; None if they cannot be estimated."""


def measure_pair(
    pair: GroupPair, quantity: str, margin: float, pool_unlike: bool
) -> PairMeasurement:
    """Measure one quantity of two groups. `margin` is in the unit of claims.DEFAULT_MARGINS."""
    column = scales.column_for(pair.sides)
    reason = incomparable.why(pair, quantity, column, pool_unlike)
    if reason is not None:
        return PairMeasurement(
            pair, quantity, column, MeasuredDifference(margin, incomparable=reason)
        )
    column = column or scales.own_column(pair.sides)
    on_column = column if QUANTITIES[quantity].on_reward else None
    no_replicates = incomparable.no_replicates(pair, quantity)
    if no_replicates is not None:
        no_estimate = _without_replicates(pair, quantity, margin, on_column, no_replicates)
        return PairMeasurement(pair, quantity, column, no_estimate)
    basis = ComparisonBasis(column)
    samples = _samples(pair.sides, quantity, basis)
    if samples is None:
        no_estimate = MeasuredDifference(
            margin, on_column, **incomparable.nothing_to_compare(pair, quantity, basis)
        )
        return PairMeasurement(pair, quantity, column, no_estimate)
    later, baseline = samples
    seeds = (len(later), len(baseline))
    margin = _absolute_margin(quantity, margin, samples)
    too_little = incomparable.too_little(pair, quantity, seeds, basis)
    no_estimate = MeasuredDifference(margin, on_column, seeds, **too_little)
    later_mean, baseline_mean = random_effects.mean(later), random_effects.mean(baseline)
    if later_mean is None or baseline_mean is None:
        return PairMeasurement(pair, quantity, column, no_estimate)
    means = (
        GroupMean(pair.later.place, later_mean, len(later)),
        GroupMean(pair.baseline.place, baseline_mean, len(baseline)),
    )
    return PairMeasurement(pair, quantity, column, no_estimate, means)


def compare(measurement: PairMeasurement, prior: Prior) -> MeasuredDifference:
    """Return the difference of the two means, with variances moderated by `prior`."""
    estimate = prior.difference(*measurement.means) if measurement.means is not None else None
    if estimate is None:
        return measurement.known
    pair, quantity, column = measurement.pair, measurement.quantity, measurement.column
    is_significant = claims.p_differs(estimate) < claims.LEVEL
    return replace(
        measurement.known,
        estimate=estimate,
        probe=_on_probe(pair, quantity, column) if is_significant else None,
        net_of_null=_net_of_null(pair, quantity, column),
        incomparable=None,
        open=None,
    )


def _without_replicates(
    pair: GroupPair, quantity: str, margin: float, on_column: str | None, reason: str
) -> MeasuredDifference:
    run_values = _run_values(pair, quantity)
    errors = [
        (value.high - value.low) / 2 / NORMAL_95
        for value in run_values
        if isinstance(value, Interval)
    ]
    values = [value.value for value in run_values if isinstance(value, Interval)]
    scale = abs(float(np.mean(values))) if quantity == "a" and values else 1.0
    return MeasuredDifference(
        margin * scale,
        on_column,
        (_replicates(pair.later, quantity), _replicates(pair.baseline, quantity)),
        own_error=float(np.mean(np.square(errors))) ** 0.5 if errors else 0.0,
        open=reason,
    )


def _run_values(pair: GroupPair, quantity: str) -> list[Any]:
    """Return the quantity of each run on the run's own basis."""
    if quantity == "fall":
        falls = quantities.values(quantity, pair.sides, ComparisonBasis(None))
        return [fall for group_falls in falls for fall in group_falls]
    if quantity == "onset":
        return []
    return [
        reward_column.number_on(member.result, quantity, member.column)
        for side in pair.sides
        for member in side.members
    ]


def _replicates(side: ComparedGroup, quantity: str) -> int:
    """Return a lower bound on the number of seeds: runs with an unknown seed count as one."""
    return len({member.identity.seed for member in side.members_with(quantity)})


def _samples(
    sides: Sequence[ComparedGroup], quantity: str, basis: ComparisonBasis
) -> tuple[Sample, Sample] | None:
    shared = _shared_basis(sides, quantity, basis)
    if shared is None:
        return None
    values = quantities.values(quantity, sides, shared)
    later, baseline = quantities.samples(quantity, values)
    return later, baseline


def _shared_basis(
    sides: Sequence[ComparedGroup], quantity: str, basis: ComparisonBasis
) -> ComparisonBasis | None:
    """Restrict the basis to the range that all runs have in common; None if there is none."""
    if quantity == "onset":
        return restrict_to_horizon(sides, basis)
    return restrict_to_shared_range(sides, basis) if quantity == "a" else basis


def _absolute_margin(quantity: str, margin: float, samples: tuple[Sample, Sample]) -> float:
    if quantity != "a":
        return margin
    means = [random_effects.mean(sample) for sample in samples]
    return margin * abs(sum(mean.value for mean in means if mean is not None) / len(means))


def _on_probe(pair: GroupPair, quantity: str, column: str | None) -> ProbeDifference | None:
    """Return the difference with H on frozen prefixes; None if a run has too few values of it."""
    members = [member for side in pair.sides for member in side.members_with(quantity)]
    if quantity not in ON_VISITED_STATES or any(
        member.replicate.probe_course is None for member in members
    ):
        return None
    samples = _samples(pair.sides, quantity, ComparisonBasis(column, probe=True))
    if samples is None:
        return ProbeDifference(None) if quantity == "onset" else None
    estimate = random_effects.difference(*samples)
    return ProbeDifference(estimate) if estimate is not None else None


def _net_of_null(pair: GroupPair, quantity: str, column: str | None) -> Estimate | None:
    """Return the difference net of null controls; None if a run lacks one of its seed, or steps."""
    if not QUANTITIES[quantity].null:
        return None
    values = [
        [
            quantities.net_of_null(QUANTITIES[quantity], member, ComparisonBasis(column))
            for member in side.members
        ]
        for side in pair.sides
    ]
    if any(value is None for group_values in values for value in group_values):
        return None
    later, baseline = quantities.samples(quantity, values)
    return random_effects.difference(later, baseline)


def failure_rates(pair: GroupPair) -> tuple[float, float] | None:
    """Return the mean shares of failed conversations, later group first; None if not logged."""
    later, baseline = (_failure_rate(side) for side in pair.sides)
    return None if later is None or baseline is None else (later, baseline)


def _failure_rate(side: ComparedGroup) -> float | None:
    rates = []
    for member in side.members:
        conversations = setting(member.identity.config, "trainer", "conversations")
        failed = member.replicate.failed_a_step
        if failed is None or not isinstance(conversations, int) or conversations <= 0:
            return None
        rates.append(failed / conversations)
    return float(np.mean(rates)) if rates else None
