"""From the runs of a study to the numbers its links are judged by, and to what was left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.law.compare import study_metrics
from harness.law.compare.groups import Member
from harness.law.compare.links import Observed
from harness.law.io import integrity
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
    known = {Path(member.result.run).name: member for member in members}
    runs: dict[str, Runs] = {}
    counts: dict[str, Counts] = {}
    for arm in stated.arms:
        planned = {int(seed): name for seed, name in record.arms[arm].items()}
        there = {seed: known[name] for seed, name in planned.items() if name in known}
        runs[arm] = {seed: member for seed, member in there.items() if active(member)}
        counts[arm] = Counts(
            planned=len(planned),
            failed=len(planned) - len(there),
            inactive=len(there) - len(runs[arm]),
            starved=sum(member.result.regime == "starved" for member in runs[arm].values()),
            diverged=sum(name in diverged for name in planned.values()),
        )
    chosen = {name: highest(of, runs) for name, of in stated.best.items()}
    best = {name: runs[arm] if arm else {} for name, arm in chosen.items()}
    return Arms({**runs, **best}, counts, chosen)


def highest(names: Sequence[str], runs: Mapping[str, Runs]) -> str | None:
    """The arm with the highest mean reward at the end, on the common evaluation."""
    means = {}
    for name in names:
        ends = [study_metrics.number(m, "final_reward", EVALUATION) for m in runs[name].values()]
        known = [end for end in ends if end is not None]
        if known:
            means[name] = sum(known) / len(known)
    return max(means, key=lambda name: means[name]) if means else None


def active(member: Member) -> bool:
    """Whether its remedy, if it has one, ever acted upon a token."""
    return not member.identity.intervened or member.result.remedy_acted != 0.0


def observed(link: Link, found: Arms) -> Observed:
    """The pairs of a link, by seed."""
    own = found.runs[link.arm]
    other = found.runs[link.against] if link.against else None
    net = _differences(link, own, other, study_metrics.net_of_null) if link.net_of_null else None
    counted = [m for runs in (own, other or {}) for m in runs.values() if _told(m, link)]
    plain = _differences(link, own, other, study_metrics.number)
    return Observed(
        link,
        plain,
        net,
        _censored(counted, link.quantity) if link.quantity in ("onset", "lead") else None,
        len(counted),
        {arm: _numbers(link, found.runs[arm], list(plain)) for arm in (link.arm, link.against)
         if arm and link.against},
    )  # fmt: skip


def _numbers(link: Link, runs: Runs, seeds: Sequence[int]) -> list[float]:
    known = [study_metrics.number(runs[seed], link.quantity, link.evaluation) for seed in seeds]
    return [value for value in known if value is not None]


def _censored(members: Sequence[Member], quantity: str) -> int:
    return sum(study_metrics.censored(member, quantity) for member in members)


def _told(member: Member, link: Link) -> bool:
    return study_metrics.number(member, link.quantity, link.evaluation) is not None


def _differences(
    link: Link, own: Runs, other: Runs | None, of: Callable[[Member, str, str], float | None]
) -> dict[int, float]:
    """Seeds that have both numbers; without an `other`, the arm's own."""
    found = {}
    for seed in sorted(own):
        value = of(own[seed], link.quantity, link.evaluation)
        if other is None:
            against: float | None = 0.0
        else:
            against = of(other[seed], link.quantity, link.evaluation) if seed in other else None
        if value is not None and against is not None:
            found[seed] = value - against
    return found
