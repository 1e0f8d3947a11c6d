"""Collect the numbers that a link of a study is judged on, by seed, from the runs of its arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from harness.law.compare import crossed, probe_readings, quantities, worst_case
from harness.law.compare.best_arms import Runs
from harness.law.compare.comparison_basis import ComparisonBasis, horizon
from harness.law.compare.groups import Member
from harness.law.compare.looks import Pairs
from harness.law.compare.quantities import QUANTITIES, RunQuantity
from harness.law.compare.study_arms import ArmRuns
from harness.law.compare.worst_case import LostPair
from harness.law.results import Interval
from harness.records.study_file import Link


@dataclass(frozen=True)
class LinkObservations:
    """The numbers a link is judged on."""

    link: Link
    differences: Mapping[int, float]
    """Seed -> the number of the arm minus that of the other arm."""
    net: Mapping[int, float] | None = None
    """The differences net of the null controls; None if the link does not ask for that."""
    censored: int | None = None
    """The number of runs without an onset in both arms; None if the quantity is no onset."""
    runs: int = 0
    """The number of runs with a number in both arms."""
    own: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Arm -> seed -> the number of its run, over the same seeds. For a crossed table: factor, or
    both factors together -> seed -> pseudo-value of the component."""
    gains: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Arm -> gains of its runs, for a link on reward between arms."""
    names: Mapping[int, str] = field(default_factory=dict)
    """Seed -> names of the runs of its pair. The seed is used if there is none."""
    lost: Mapping[int, LostPair] = field(default_factory=dict)
    """Seeds whose pair has no number because one of its runs diverged."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Run without a number from its probe -> the reason."""
    of_arms: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """For a crossed table: arm -> seed -> the number of its run, for seeds complete in all arms."""

    @property
    def judged(self) -> Mapping[int, float]:
        return self.differences if self.net is None else self.net

    @property
    def pairs(self) -> Pairs:
        """The identity of a look: the names of its pairs."""
        return frozenset(self.names.get(seed, str(seed)) for seed in self.judged)


def observe_link(link: Link, arms: ArmRuns) -> LinkObservations:
    """Return the numbers of a link's pairs, by seed."""
    quantity, names = quantities.of_link(link), link.named_arms
    sides = [arms.runs[arm] for arm in names]
    basis = ComparisonBasis(
        link.evaluation, horizon=horizon(member for runs in sides for member in runs.values())
    )
    transform = from_median if link.spread else dict[int, float]
    value = partial(quantity.value, basis=basis)
    numbers = [transform(_numbers(runs, value)) for runs in sides]
    plain, net = _judged_differences(link, numbers), None
    net_numbers: list[dict[int, float]] = []
    if link.net_of_null:
        net_value = partial(quantities.net_of_null, quantity, basis=basis)
        net_numbers = [transform(_numbers(runs, net_value)) for runs in sides]
        net = _judged_differences(link, net_numbers)
    members = [runs[seed] for runs, by_seed in zip(sides, numbers, strict=True) for seed in by_seed]
    censored = sum(quantity.censored(member, basis) for member in members)
    seeds = crossed.complete_seeds(numbers) if link.crossed else plain
    by_arm = {
        arm: {seed: by_seed[seed] for seed in seeds}
        for arm, by_seed in zip(names, numbers, strict=True)
    }
    own = by_arm if link.crossed is None else crossed.parts(link, numbers)
    is_between_arms = link.against is not None
    return LinkObservations(
        link,
        plain,
        net,
        censored if quantity.step else None,
        len(members),
        own if is_between_arms else {},
        _gains(sides, names, basis)
        if is_between_arms and quantity.on_reward and not link.spread
        else {},
        {seed: " ".join(_name(runs[seed]) for runs in sides) for seed in plain},
        _lost_pairs(link, quantity, basis, arms, numbers, net_numbers),
        _unanswered(link, [member for runs in sides for member in runs.values()]),
        by_arm if link.crossed else {},
    )


def _unanswered(link: Link, members: Sequence[Member]) -> dict[str, str]:
    """Return name -> reason for the runs without a number from the link's probe.

    With net_of_null, their null controls are included.
    """
    if link.probe is None:
        return {}
    explain = partial(probe_readings.why_not, link.probe, link.quantity)
    reasons: dict[str, str | None] = {}
    for member in members:
        nulls = member.nulls if link.net_of_null else ()
        until = min(run.last_step for run in (member.replicate, *nulls))
        for run in (member.replicate, *nulls):
            reasons[run.folder.name if run.folder else _name(member)] = explain(run, until)
    return {name: reason for name, reason in reasons.items() if reason is not None}


def from_median(numbers: Mapping[int, float]) -> dict[int, float]:
    """Return the absolute deviation of each number from their median, by seed."""
    centre = median(numbers.values()) if numbers else 0.0
    return {seed: abs(number - centre) for seed, number in numbers.items()}


def _name(member: Member) -> str:
    return Path(member.result.run).name


def _gains(
    sides: Sequence[Runs], names: Sequence[str], basis: ComparisonBasis
) -> dict[str, Sequence[float]]:
    """Return the gains of the runs of each arm, regardless of the link's quantity."""
    gain = partial(QUANTITIES["gain"].value, basis=basis)
    gains = [list(_numbers(runs, gain).values()) for runs in sides]
    return dict(zip(names, gains, strict=True))


def _lost_pairs(
    link: Link,
    quantity: RunQuantity,
    basis: ComparisonBasis,
    arms: ArmRuns,
    numbers: Sequence[Mapping[int, float]],
    net_numbers: Sequence[Mapping[int, float]],
) -> dict[int, LostPair]:
    """Return the pairs without a number because one of their runs or null controls diverged."""
    names = link.named_arms
    members = [member for runs in arms.runs.values() for member in runs.values()]
    nulls = [
        run
        for by_seed in arms.diverged.values()
        for run in by_seed.values()
        if run.identity.null_control
    ]
    descriptions: dict[int, list[str]] = {}
    for arm in names:
        for seed, run in arms.diverged.get(arm, {}).items():
            descriptions.setdefault(seed, []).append(run.description)
        for seed, member in arms.runs[arm].items() if net_numbers else ():
            null_descriptions = dict.fromkeys(
                run.description for run in nulls if run.is_null_of(member)
            )
            if null_descriptions:
                descriptions.setdefault(seed, []).extend(null_descriptions)
    if not descriptions:
        return {}
    name = quantities.OLD_NAMES.get(link.quantity, link.quantity)
    if link.probe is None:
        plain_range = worst_case.range_of(name, quantity, basis, members)
    else:
        plain_range = worst_case.UNBOUNDED
    if link.spread:
        plain_range = (0.0, plain_range[1] - plain_range[0])
    net_range = worst_case.difference(plain_range, plain_range) if net_numbers else plain_range
    pairs = {}
    for seed, described in sorted(descriptions.items()):
        if all(seed in by_seed for by_seed in net_numbers or numbers):
            continue  # one of several null controls was lost; the others suffice
        pair_range = _pair_range(link, seed, plain_range, numbers)
        low, high = _pair_range(link, seed, net_range, net_numbers) if net_numbers else pair_range
        has_number = all(seed in by_seed for by_seed in numbers)
        pairs[seed] = LostPair(
            tuple(described), low, high, pair_range if net_numbers and not has_number else None
        )
    return pairs


def _pair_range(
    link: Link, seed: int, bounds: tuple[float, float], numbers: Sequence[Mapping[int, float]]
) -> tuple[float, float]:
    """Return the range of a pair's difference, with the range `bounds` for a missing number."""
    if link.crossed is not None:
        return crossed.range_of(link, numbers, seed, bounds)
    ranges = [(by_seed[seed], by_seed[seed]) if seed in by_seed else bounds for by_seed in numbers]
    return worst_case.difference(ranges[0], ranges[1] if len(ranges) > 1 else None)


def _numbers(runs: Runs, value_of: Callable[[Member], Interval | None]) -> dict[int, float]:
    """Return the numbers of the runs that have one, by seed."""
    values = {seed: value_of(runs[seed]) for seed in sorted(runs)}
    return {seed: value.value for seed, value in values.items() if value is not None}


def _judged_differences(link: Link, numbers: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return seed -> the difference that is judged."""
    return _differences(*numbers) if link.crossed is None else crossed.differences(link, numbers)


def _differences(
    numbers: Mapping[int, float], others: Mapping[int, float] | None = None
) -> dict[int, float]:
    """Return the differences of seeds with both numbers, or `numbers` if `others` is None."""
    if others is None:
        return dict(numbers)
    return {seed: numbers[seed] - others[seed] for seed in numbers if seed in others}
