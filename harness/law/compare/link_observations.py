"""Collect the numbers that a link of a study is judged on, by seed, from the runs of its arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from harness.law.compare import crossed, probe_readings, quantities, worst_case
from harness.law.compare.comparison_basis import ComparisonBasis, horizon
from harness.law.compare.groups import Member
from harness.law.compare.looks import Pairs
from harness.law.compare.quantities import QUANTITIES, RunQuantity
from harness.law.compare.study_arms import ArmRuns, Runs
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
        link.evaluation, horizon=horizon(m for runs in sides for m in runs.values())
    )
    of_side = from_median if link.spread else dict[int, float]
    value = partial(quantity.value, basis=basis)
    numbers = [of_side(_numbers(runs, value)) for runs in sides]
    plain, net = _judged_differences(link, numbers), None
    of_nets: list[dict[int, float]] = []
    if link.net_of_null:
        of_run = partial(quantities.net_of_null, quantity, basis=basis)
        of_nets = [of_side(_numbers(runs, of_run)) for runs in sides]
        net = _judged_differences(link, of_nets)
    counted = [runs[seed] for runs, of in zip(sides, numbers, strict=True) for seed in of]
    censored = sum(quantity.censored(member, basis) for member in counted)
    told = crossed.complete_seeds(numbers) if link.crossed else plain
    of_arms = {arm: {s: of[s] for s in told} for arm, of in zip(names, numbers, strict=True)}
    own = of_arms if link.crossed is None else crossed.parts(link, numbers)
    between = link.against is not None
    return LinkObservations(
        link,
        plain,
        net,
        censored if quantity.step else None,
        len(counted),
        own if between else {},
        _gains(sides, names, basis) if between and quantity.on_reward and not link.spread else {},
        {seed: " ".join(_name(runs[seed]) for runs in sides) for seed in plain},
        _lost(link, quantity, basis, arms, numbers, of_nets),
        _unanswered(link, [m for runs in sides for m in runs.values()]),
        of_arms if link.crossed else {},
    )


def _unanswered(link: Link, members: Sequence[Member]) -> dict[str, str]:
    """Return name -> reason for the runs without a number from the link's probe.

    With net_of_null, their null controls are included.
    """
    if link.probe is None:
        return {}
    why = partial(probe_readings.why_not, link.probe, link.quantity)
    found: dict[str, str | None] = {}
    for member in members:
        nulls = member.nulls if link.net_of_null else ()
        until = min(run.last_step for run in (member.replicate, *nulls))
        for run in (member.replicate, *nulls):
            found[run.folder.name if run.folder else _name(member)] = why(run, until)
    return {name: reason for name, reason in found.items() if reason is not None}


def from_median(numbers: Mapping[int, float]) -> dict[int, float]:
    """Return the absolute deviation of each number from their median, by seed."""
    middle = median(numbers.values()) if numbers else 0.0
    return {seed: abs(number - middle) for seed, number in numbers.items()}


def _name(member: Member) -> str:
    return Path(member.result.run).name


def _gains(
    sides: Sequence[Runs], names: Sequence[str], basis: ComparisonBasis
) -> dict[str, Sequence[float]]:
    """Return the gains of the runs of each arm, regardless of the link's quantity."""
    of_run = partial(QUANTITIES["gain"].value, basis=basis)
    gains = [list(_numbers(runs, of_run).values()) for runs in sides]
    return dict(zip(names, gains, strict=True))


def _lost(
    link: Link,
    quantity: RunQuantity,
    basis: ComparisonBasis,
    arms: ArmRuns,
    numbers: Sequence[Mapping[int, float]],
    nets: Sequence[Mapping[int, float]],
) -> dict[int, LostPair]:
    """Return the pairs without a number because one of their runs or null controls diverged."""
    names = link.named_arms
    members = [m for runs in arms.runs.values() for m in runs.values()]
    nulls = [
        one for of in arms.diverged.values() for one in of.values() if one.identity.null_control
    ]
    lost: dict[int, list[str]] = {}
    for arm in names:
        for seed, one in arms.diverged.get(arm, {}).items():
            lost.setdefault(seed, []).append(one.description)
        for seed, member in arms.runs[arm].items() if nets else ():
            of_null = dict.fromkeys(one.description for one in nulls if one.is_null_of(member))
            if of_null:
                lost.setdefault(seed, []).extend(of_null)
    if not lost:
        return {}
    name = quantities.OLD_NAMES.get(link.quantity, link.quantity)
    if link.probe is None:
        plain = worst_case.range_of(name, quantity, basis, members)
    else:
        plain = worst_case.UNBOUNDED
    if link.spread:
        plain = (0.0, plain[1] - plain[0])
    net = worst_case.difference(plain, plain) if nets else plain
    found = {}
    for seed, told in sorted(lost.items()):
        if all(seed in of for of in nets or numbers):
            continue  # one of several null controls was lost; the others suffice
        of_plain = _pair_range(link, seed, plain, numbers)
        low, high = _pair_range(link, seed, net, nets) if nets else of_plain
        known = all(seed in of for of in numbers)
        found[seed] = LostPair(tuple(told), low, high, of_plain if nets and not known else None)
    return found


def _pair_range(
    link: Link, seed: int, whole: tuple[float, float], numbers: Sequence[Mapping[int, float]]
) -> tuple[float, float]:
    """Return the range of a pair's difference, with the range `whole` for a missing number."""
    if link.crossed is not None:
        return crossed.range_of(link, numbers, seed, whole)
    sides = [(of[seed], of[seed]) if seed in of else whole for of in numbers]
    return worst_case.difference(sides[0], sides[1] if len(sides) > 1 else None)


def _numbers(runs: Runs, of_run: Callable[[Member], Interval | None]) -> dict[int, float]:
    """Return the numbers of the runs that have one, by seed."""
    values = {seed: of_run(runs[seed]) for seed in sorted(runs)}
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
