"""Select the pairs of groups that can be compared: those that differ in one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from harness.config.run import LEVELS
from harness.law.compare import groups as grouping
from harness.law.compare.groups import Member
from harness.law.compare.replicates import COMMON
from harness.law.group_results import GroupResult
from harness.law.io.identity import FolderIdentity

OTHER_USERS = {"simulator", "levels"}
"""Config groups that change the users of every evaluation."""
OTHER_BATCHES = {"reward", "curriculum"}
"""Config groups that change the meaning of the training reward."""


@dataclass(frozen=True)
class ComparedGroup:
    """A group with its runs."""

    place: int
    """Index among the groups of the analysis."""
    key: Mapping[str, Any]
    members: tuple[Member, ...]
    """The runs that are in the means of the group."""
    diverged: tuple[Member, ...]
    """Diverged runs that are not in the means. Their onset is known, or censored."""
    config: Mapping[str, Any]
    """Dotted key -> value, without the seed."""
    card: Mapping[str, Any]
    """The measurement card of the first run, with dotted keys."""

    @property
    def name(self) -> str:
        return ", ".join(f"{axis}={value}" for axis, value in self.key.items()) or "all runs"

    @property
    def onset_members(self) -> tuple[Member, ...]:
        """The runs whose onset is known or censored."""
        return self.members + self.diverged

    def members_with(self, quantity: str) -> tuple[Member, ...]:
        """Return the runs with information on `quantity`."""
        return self.onset_members if quantity == "onset" else self.members

    @property
    def seeds(self) -> list[int | None]:
        return [member.identity.seed for member in self.members]

    @property
    def first(self) -> FolderIdentity:
        return self.onset_members[0].identity

    @property
    def null_control(self) -> bool:
        return self.first.null_control


@dataclass(frozen=True)
class GroupPair:
    """Two groups. Differences are the later group minus the baseline."""

    later: ComparedGroup
    baseline: ComparedGroup
    axes: tuple[str, ...]
    """Axes in which the configs differ. If the name of a config group differs, its keys are left
    out."""

    @property
    def sides(self) -> tuple[ComparedGroup, ComparedGroup]:
        return self.later, self.baseline


def compared_groups(
    groups: Sequence[GroupResult], members: Sequence[Member]
) -> list[ComparedGroup]:
    """Return the groups with their runs, in the order of levels, then of the groups.

    Groups without a readable run in their means or among the diverged runs are left out.
    """
    by_run = {member.result.run: member for member in members}
    with_runs = []
    for index, group in enumerate(groups):
        column = group.reward or ""
        group_members = tuple(replace(by_run[run], pooled_on=column) for run in group.runs)
        others = (by_run[run] for run in group.diverged if run not in group.runs)
        diverged = tuple(member for member in others if member.is_readable)
        if not group_members + diverged:
            continue
        identity = (group_members + diverged)[0].identity
        config, card = (
            grouping.flatten_config(identity.full_config or {}),
            grouping.flatten_config(identity.measurement),
        )
        with_runs.append(ComparedGroup(index, group.key, group_members, diverged, config, card))
    return sorted(with_runs, key=lambda side: (_rank(side), side.place))


def pairs_to_compare(sides: Sequence[ComparedGroup]) -> list[GroupPair]:
    """Return all pairs of groups that differ in one axis, except pairs of null controls.

    Null controls are the baseline of runs with a signal and are not compared with each other.
    """
    candidates = [
        _pair(first, second)
        for first, second in combinations(sides, 2)
        if not (first.null_control and second.null_control)
    ]
    return [pair for pair in candidates if _differ_in_one_axis(pair)]


def _pair(first: ComparedGroup, second: ComparedGroup) -> GroupPair:
    """Make a pair with the first as the baseline, unless only the other is a null control."""
    baseline, later = (second, first) if second.null_control else (first, second)
    return GroupPair(later, baseline, axes(baseline, later))


def axes(first: ComparedGroup, second: ComparedGroup) -> tuple[str, ...]:
    """Return the axes in which two groups differ, sorted."""
    keys = first.config.keys() | second.config.keys()
    differing = {key for key in keys if first.config.get(key) != second.config.get(key)}
    return tuple(
        sorted(key for key in differing if key == _root(key) or _root(key) not in differing)
    )


def _differ_in_one_axis(pair: GroupPair) -> bool:
    """Return whether the keys of the two groups differ in exactly one axis."""
    later, baseline = pair.later.key, pair.baseline.key
    differing = [
        axis for axis in later.keys() | baseline.keys() if later.get(axis) != baseline.get(axis)
    ]
    return len(differing) == 1


def moves_scale(axes: Sequence[str], column: str) -> bool:
    """Return whether `column` is on different scales in groups that differ in `axes`."""
    roots = {_root(axis) for axis in axes}
    if roots & OTHER_USERS:
        return True
    if column in COMMON:
        return False
    return "difficulty" in roots or (not column.startswith("eval/") and bool(roots & OTHER_BATCHES))


def _root(axis: str) -> str:
    return axis.split(".")[0]


def _rank(side: ComparedGroup) -> int:
    level = side.first.level
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
