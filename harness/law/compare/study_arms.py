"""Collect the runs of a study's arms, and the numbers its links are judged on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from harness.law.compare import crossed, groups, probe_readings, quantities, worst_case
from harness.law.compare.comparison_basis import ComparisonBasis, horizon
from harness.law.compare.groups import Member
from harness.law.compare.links import LinkObservations
from harness.law.compare.quantities import QUANTITIES, RunQuantity
from harness.law.compare.worst_case import LostPair
from harness.law.io import identity, integrity
from harness.law.io.identity import FolderIdentity
from harness.law.results import Interval
from harness.records.study_file import EVALUATION, Link, StudyRecord, StudyStatement
from harness.records.sweep_file import Sweep

Runs = Mapping[int, Member]
"""Seed -> run."""
NULL_CONTROL = "algorithm.null_control"


@dataclass(frozen=True)
class ArmCounts:
    """The numbers of runs in one arm."""

    planned: int
    failed: int
    """Runs that are not done or not readable."""
    inactive: int
    """Runs whose remedy acted on no token; they are left out."""
    starved: int
    """Counted runs that are starved: most groups had no signal, H was kept, nothing was gained."""
    diverged_runs: tuple[str, ...] = ()
    """Failed runs whose training diverged, each with the step it reached."""
    invalid_users: int = 0
    """Counted runs that train on users who are not valid."""
    not_started: int = 0
    """Runs in `failed` that were never started."""

    @property
    def diverged(self) -> int:
        return len(self.diverged_runs)


@dataclass(frozen=True)
class ArmRuns:
    """The counted runs of each arm, and the numbers of those left out."""

    runs: Mapping[str, Runs]
    counts: Mapping[str, ArmCounts]
    chosen: Mapping[str, str | None]
    """Name in `Stated.best` -> the chosen arm; None if no run of its arms has a number."""
    diverged: Mapping[str, Mapping[int, DivergedRun]] = field(default_factory=dict)
    """Arm -> seed -> its diverged run."""


@dataclass(frozen=True)
class DivergedRun:
    """A run that diverged. Its numbers are unknown, and they are not missing at random."""

    name: str
    identity: FolderIdentity

    @property
    def description(self) -> str:
        return f"{self.name} at step {self.identity.last_step}"

    def is_null_of(self, member: Member) -> bool:
        """Return whether the diverged run is a null control of `member`, by config and seed."""
        if not self.identity.null_control or self.identity.seed != member.identity.seed:
            return False
        ours, theirs = (
            {
                k: v
                for k, v in groups.flatten_config(one.full_config or {}).items()
                if k != NULL_CONTROL
            }
            for one in (self.identity, member.identity)
        )
        return ours == theirs


def finished_folders(ledger: Sweep) -> list[Path]:
    """Return the folders of the runs that are done. Others are not used, even as null controls."""
    return [Path(str(row.dir)) for row in ledger.runs if row.status == "done"]


def diverged_runs(ledger: Sweep) -> dict[str, DivergedRun]:
    """Return the diverged runs by name."""
    return {
        row.name: DivergedRun(row.name, identity.read(Path(str(row.dir))))
        for row in ledger.runs
        if integrity.diverged(row)
    }


def not_started(ledger: Sweep) -> frozenset[str]:
    """Return the names of the runs that were never started."""
    return frozenset(row.name for row in ledger.runs if row.status == "planned")


def assign_runs(
    record: StudyRecord,
    stated: StudyStatement,
    members: Sequence[Member],
    diverged: Mapping[str, DivergedRun] | None = None,
    not_started: Collection[str] = (),
) -> ArmRuns:
    """Assign runs to the arms of a study.

    `members`: the runs of `finished_folders` as read by law.analysis; `diverged`: the diverged runs
    by name; `not_started`: the names of the runs that were never started.
    """
    by_name = {Path(member.result.run).name: member for member in members}
    lost = diverged or {}
    runs: dict[str, Runs] = {}
    counts: dict[str, ArmCounts] = {}
    lost_of: dict[str, dict[int, DivergedRun]] = {}
    for arm in stated.arms:
        planned = {int(seed): name for seed, name in record.arms[arm].items()}
        there = {seed: by_name[name] for seed, name in planned.items() if name in by_name}
        runs[arm] = {seed: member for seed, member in there.items() if is_remedy_active(member)}
        lost_of[arm] = {seed: lost[name] for seed, name in planned.items() if name in lost}
        counts[arm] = ArmCounts(
            planned=len(planned),
            failed=len(planned) - len(there),
            inactive=len(there) - len(runs[arm]),
            starved=sum(member.result.regime == "starved" for member in runs[arm].values()),
            diverged_runs=tuple(one.description for one in lost_of[arm].values()),
            invalid_users=sum(m.identity.invalid_users for m in runs[arm].values()),
            not_started=len({*planned.values()}.intersection(not_started)),
        )
    chosen = {name: highest_arm(of, runs) for name, of in stated.best.items()}
    best = {name: runs[arm] if arm else {} for name, arm in chosen.items()}
    lost_of |= {name: lost_of[arm] if arm else {} for name, arm in chosen.items()}
    return ArmRuns({**runs, **best}, counts, chosen, lost_of)


def highest_arm(names: Sequence[str], runs: Mapping[str, Runs]) -> str | None:
    """Return the arm with the highest mean reward at the end, on the common evaluation."""
    end_of, means = QUANTITIES["final_reward"], {}
    for name in names:
        of_runs = [end_of.value(m, ComparisonBasis(EVALUATION)) for m in runs[name].values()]
        ends = [end.value for end in of_runs if end is not None]
        if ends:
            means[name] = sum(ends) / len(ends)
    return max(means, key=lambda name: means[name]) if means else None


def is_remedy_active(member: Member) -> bool:
    """Return whether the run has no remedy, or its remedy acted on at least one token."""
    return not member.identity.intervened or member.result.remedy_acted != 0.0


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
