"""From the runs of a study to the numbers its links are judged by, and to what was left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.law.compare import quantities
from harness.law.compare.footing import Footing, horizon
from harness.law.compare.groups import Member
from harness.law.compare.links import Observed
from harness.law.compare.quantities import QUANTITIES
from harness.law.io import integrity
from harness.law.results import Interval
from harness.records.study_file import EVALUATION, Link, Stated, StudyRecord
from harness.records.sweep_file import Sweep

Runs = Mapping[int, Member]
"""Seed -> run."""


@dataclass(frozen=True)
class Counts:
    """Runs of one arm, counted."""

    planned: int
    failed: int
    """Not done, or not to be read."""
    inactive: int
    """Whose remedy acted upon no token; kept out."""
    starved: int
    """Runs that count and are starved: most groups taught nothing, H was kept, nothing gained."""
    diverged: int = 0
    """Failed runs whose training diverged."""
    invalid_users: int = 0
    """Runs that count and train on users who are not valid."""


@dataclass(frozen=True)
class Arms:
    """The runs of each arm that count, and how many do not."""

    runs: Mapping[str, Runs]
    counts: Mapping[str, Counts]
    chosen: Mapping[str, str | None]
    """The arm that each of `Stated.best` is; None where no run of them has a number."""


def finished(ledger: Sweep) -> list[Path]:
    """The folders of the runs that are done: of the others nothing counts, nor as null controls."""
    return [Path(str(row.dir)) for row in ledger.runs if row.status == "done"]


def diverged(ledger: Sweep) -> frozenset[str]:
    """The names of the runs that did."""
    return frozenset(row.name for row in ledger.runs if integrity.diverged(row))


def arms(
    record: StudyRecord,
    stated: Stated,
    members: Sequence[Member],
    diverged: Collection[str] = (),
) -> Arms:
    """`members`: of `finished`, as law.analysis has read them; `diverged`: names of runs."""
    by_name = {Path(member.result.run).name: member for member in members}
    runs: dict[str, Runs] = {}
    counts: dict[str, Counts] = {}
    for arm in stated.arms:
        planned = {int(seed): name for seed, name in record.arms[arm].items()}
        there = {seed: by_name[name] for seed, name in planned.items() if name in by_name}
        runs[arm] = {seed: member for seed, member in there.items() if active(member)}
        counts[arm] = Counts(
            planned=len(planned),
            failed=len(planned) - len(there),
            inactive=len(there) - len(runs[arm]),
            starved=sum(member.result.regime == "starved" for member in runs[arm].values()),
            diverged=sum(name in diverged for name in planned.values()),
            invalid_users=sum(m.identity.invalid_users for m in runs[arm].values()),
        )
    chosen = {name: highest(of, runs) for name, of in stated.best.items()}
    best = {name: runs[arm] if arm else {} for name, arm in chosen.items()}
    return Arms({**runs, **best}, counts, chosen)


def highest(names: Sequence[str], runs: Mapping[str, Runs]) -> str | None:
    """The arm with the highest mean reward at the end, on the common evaluation."""
    end_of, means = QUANTITIES["final_reward"], {}
    for name in names:
        of_runs = [end_of.value(m, Footing(EVALUATION)) for m in runs[name].values()]
        ends = [end.value for end in of_runs if end is not None]
        if ends:
            means[name] = sum(ends) / len(ends)
    return max(means, key=lambda name: means[name]) if means else None


def active(member: Member) -> bool:
    """Whether its remedy, if it has one, ever acted upon a token."""
    return not member.identity.intervened or member.result.remedy_acted != 0.0


def observed(link: Link, arms: Arms) -> Observed:
    """The pairs of a link, by seed."""
    quantity = quantities.of_link(link.quantity)
    names = [arm for arm in (link.arm, link.against) if arm]
    sides = [arms.runs[arm] for arm in names]
    footing = Footing(link.evaluation, horizon=horizon(m for runs in sides for m in runs.values()))
    numbers = [_numbers(runs, partial(quantity.value, footing=footing)) for runs in sides]
    plain, net = _differences(*numbers), None
    if link.net_of_null:
        of_run = partial(quantities.net_of_null, quantity, footing=footing)
        net = _differences(*(_numbers(runs, of_run) for runs in sides))
    counted = [runs[seed] for runs, of in zip(sides, numbers, strict=True) for seed in of]
    censored = sum(quantity.censored(member, footing) for member in counted)
    of_arms = {arm: [of[seed] for seed in plain] for arm, of in zip(names, numbers, strict=True)}
    return Observed(
        link,
        plain,
        net,
        censored if quantity.step else None,
        len(counted),
        of_arms if link.against else {},
    )


def _numbers(runs: Runs, of_run: Callable[[Member], Interval | None]) -> dict[int, float]:
    """The runs that have a number, by seed."""
    values = {seed: of_run(runs[seed]) for seed in sorted(runs)}
    return {seed: value.value for seed, value in values.items() if value is not None}


def _differences(
    numbers: Mapping[int, float], others: Mapping[int, float] | None = None
) -> dict[int, float]:
    """Seeds that have both numbers; without `others`, the arm's own."""
    if others is None:
        return dict(numbers)
    return {seed: numbers[seed] - others[seed] for seed in numbers if seed in others}
