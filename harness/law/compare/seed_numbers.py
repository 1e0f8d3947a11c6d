"""Compute the numbers of each seed on one basis for all groups, for forest plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.law.compare import quantities, scales, seed_means
from harness.law.compare.comparison_basis import (
    ComparisonBasis,
    onset_share,
    restrict_to_horizon,
    restrict_to_shared_range,
    share_done,
)
from harness.law.compare.groups import Member
from harness.law.compare.pairs import ComparedGroup
from harness.law.compare.quantities import QUANTITIES, Values
from harness.law.compare.random_effects import FEWEST_SEEDS, Sample
from harness.law.group_results import GroupNumbers, SeedMean, SeedNumbers
from harness.law.results import Interval

OWN_ERROR = ("a", "ceiling", "gain", "fall")
"""Numbers with an error of their own, in the order of a seed's values."""


def by_place(sides: Sequence[ComparedGroup]) -> dict[int, GroupNumbers]:
    """Return index of a group -> its numbers, for the groups with a readable run."""
    if not sides:
        return {}
    column = scales.column_for(sides)
    basis = ComparisonBasis(column)
    seeds = max(len(side.members) for side in sides)
    comparable = len(sides) > 1 and seeds >= FEWEST_SEEDS
    slopes = _slopes(sides, basis) if comparable else None
    onsets = _onsets(sides, basis)
    own_slopes, *others = (quantities.values(name, sides, basis) for name in OWN_ERROR)
    return {
        side.place: GroupNumbers(
            order=order,
            on=column,
            shared_range=slopes is not None,
            seeds=[
                *(
                    _seed_numbers(member, *numbers)
                    for member, *numbers in zip(side.members, *values, strict=True)
                ),
                *(_seed_numbers(member, *[None] * len(OWN_ERROR)) for member in side.diverged),
            ],
            onset=seed_means.drop_interval_of_repeats(
                _onset(side.onset_members, onsets[order] if onsets else None),
                [member.identity.seed for member in side.onset_members],
            ),
            **{
                name: seed_means.drop_interval_of_repeats(
                    _mean(name, run_values, len(side.diverged)), side.seeds
                )
                for name, run_values in zip(OWN_ERROR, values, strict=True)
            },
        )
        for order, (side, *values) in enumerate(
            zip(sides, slopes or own_slopes, *others, strict=True)
        )
    }


def _slopes(sides: Sequence[ComparedGroup], basis: ComparisonBasis) -> Values | None:
    """Return a over the range of H that all runs with a signal pass through.

    Null controls do not narrow the range, because they are only compared with their runs. None if
    a group with a signal has too few seeds left for an interval.
    """
    with_runs = [side for side in sides if side.members]
    with_signal = [side for side in with_runs if not side.null_control] or with_runs
    shared = restrict_to_shared_range(sides, basis, range_of=with_signal)
    if shared is None:
        return None
    values = quantities.values("a", sides, shared)
    indices = {side.place for side in with_signal}
    enough = [
        sum(value is not None for value in group_values) >= FEWEST_SEEDS
        for side, group_values in zip(sides, values, strict=True)
        if side.place in indices
    ]
    return values if all(enough) else None


def _onsets(sides: Sequence[ComparedGroup], basis: ComparisonBasis) -> list[Sample] | None:
    """Return the onsets up to the common horizon; None if no run collapses before it."""
    shared = restrict_to_horizon(sides, basis)
    if shared is None:
        return None
    return quantities.samples("onset", quantities.values("onset", sides, shared))


def _seed_numbers(member: Member, *values: Interval | None) -> SeedNumbers:
    return SeedNumbers(
        run=member.result.run,
        seed=member.identity.seed,
        **dict(zip(OWN_ERROR, values, strict=True)),
        onset=onset_share(member),
        reached=share_done(member),
    )


def _mean(quantity: str, run_values: Sequence[Interval | None], diverged: int) -> SeedMean:
    """Return the mean with the weights of quantities.samples(). Diverged runs are censored."""
    numbers = [*run_values, *[None] * diverged]
    if QUANTITIES[quantity].weighed:
        return seed_means.random_effects_mean(numbers)
    return seed_means.unweighted_mean(numbers)


def _onset(members: Sequence[Member], restricted: Sample | None) -> SeedMean:
    """Return the mean onset, in which runs without one count with the horizon.

    The mean is None if no run has an onset. The interval is clipped to the run.
    """
    censored = [onset_share(member) for member in members].count(None)
    if restricted is None or censored == len(members):
        return seed_means.mean_over_seeds([], censored=censored)
    mean = seed_means.mean_over_seeds(list(restricted.values), censored=censored)
    if mean.low is None or mean.high is None:
        return mean
    return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))
