"""Collect the runs of a study's arms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.law.compare import best_arms, groups
from harness.law.compare.best_arms import GridEdge, Runs
from harness.law.compare.groups import Member
from harness.law.io import identity, integrity
from harness.law.io.identity import FolderIdentity
from harness.records.study_file import StudyRecord, StudyStatement
from harness.records.sweep_file import Sweep

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
    """Name in `StudyStatement.best` -> the chosen arm; None if no run of its arms has a number."""
    diverged: Mapping[str, Mapping[int, DivergedRun]] = field(default_factory=dict)
    """Arm -> seed -> its diverged run."""
    edges: Mapping[str, GridEdge] = field(default_factory=dict)
    """Name in `StudyStatement.best` -> the edge of its arms' grid, if the chosen arm is there."""


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
        own_config, other_config = (
            {
                axis: value
                for axis, value in groups.flatten_config(folder_identity.full_config or {}).items()
                if axis != NULL_CONTROL
            }
            for folder_identity in (self.identity, member.identity)
        )
        return own_config == other_config


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
    statement: StudyStatement,
    members: Sequence[Member],
    diverged: Mapping[str, DivergedRun] | None = None,
    not_started: Collection[str] = (),
) -> ArmRuns:
    """Assign runs to the arms of a study.

    `members`: the runs of `finished_folders` as read by law.analysis; `diverged`: the diverged runs
    by name; `not_started`: the names of the runs that were never started.
    """
    by_name = {Path(member.result.run).name: member for member in members}
    diverged_by_name = diverged or {}
    runs: dict[str, Runs] = {}
    counts: dict[str, ArmCounts] = {}
    diverged_by_arm: dict[str, dict[int, DivergedRun]] = {}
    for arm in statement.arms:
        planned = {int(seed): name for seed, name in record.arms[arm].items()}
        finished = {seed: by_name[name] for seed, name in planned.items() if name in by_name}
        runs[arm] = {seed: member for seed, member in finished.items() if is_remedy_active(member)}
        diverged_by_arm[arm] = {
            seed: diverged_by_name[name]
            for seed, name in planned.items()
            if name in diverged_by_name
        }
        counts[arm] = ArmCounts(
            planned=len(planned),
            failed=len(planned) - len(finished),
            inactive=len(finished) - len(runs[arm]),
            starved=sum(member.result.regime == "starved" for member in runs[arm].values()),
            diverged_runs=tuple(run.description for run in diverged_by_arm[arm].values()),
            invalid_users=sum(member.identity.invalid_users for member in runs[arm].values()),
            not_started=len({*planned.values()}.intersection(not_started)),
        )
    chosen = {
        name: best_arms.highest_arm(names, runs, statement.evaluation_of_best(name))
        for name, names in statement.best.items()
    }
    edges = {
        name: edge
        for name, names in statement.best.items()
        if (edge := best_arms.grid_edge(chosen[name], names, runs)) is not None
    }
    best = {name: runs[arm] if arm else {} for name, arm in chosen.items()}
    diverged_by_arm |= {name: diverged_by_arm[arm] if arm else {} for name, arm in chosen.items()}
    return ArmRuns({**runs, **best}, counts, chosen, diverged_by_arm, edges)


def is_remedy_active(member: Member) -> bool:
    """Return whether the run has no remedy, or its remedy acted on at least one token."""
    return not member.identity.intervened or member.result.remedy_acted != 0.0
