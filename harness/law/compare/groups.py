"""Group runs that differ only in the seed, and average their numbers on a common reward column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.config import keys
from harness.law.compare.replicates import Replicate
from harness.law.compare.reward_column import common_column, law_fails, number_on, why_no_column
from harness.law.compare.seed_means import (
    count_unknown_seeds,
    drop_interval_of_repeats,
    mean_over_seeds,
    random_effects_mean,
    unweighted_mean,
)
from harness.law.group_results import Axes, GroupResult, SeedMean
from harness.law.io import integrity
from harness.law.io.identity import FolderIdentity
from harness.law.result_parts import SkippedPath
from harness.law.results import RunResult

NO_AXES = {"seed", "schema"}


@dataclass(frozen=True)
class Member:
    """A fitted run with its identity and the data for comparing it with others."""

    result: RunResult
    identity: FolderIdentity
    replicate: Replicate = field(default_factory=Replicate)
    nulls: tuple[Replicate, ...] = ()
    """The run's null controls of the same seed."""
    pooled_on: str | None = None
    """The reward column of the group; None before grouping, "" if its runs share none."""

    @property
    def column(self) -> str:
        """The reward column that the run is compared on."""
        return str(self.result.reward) if self.pooled_on is None else self.pooled_on

    @property
    def is_readable(self) -> bool:
        """Whether the run has numbers; a run that failed before its first row has none."""
        return self.result.status == "ok"

    @property
    def diverged(self) -> bool:
        return integrity.diverged(self.result.unfinished)


@dataclass(frozen=True)
class Grouping:
    """The groups, and the runs kept out of groups of the same config, with reasons."""

    groups: tuple[GroupResult, ...]
    skipped: tuple[SkippedPath, ...]


def group(members: Sequence[Member], pool_unlike: bool, with_unfinished: bool = False) -> Grouping:
    """Group the runs, in the order of each group's first run. Runs without a config are left out.

    Configs of different versions are equal if keys missing in one have their defaults in the other.
    Runs of one config with different measurement cards form separate groups unless `pool_unlike`.
    Unfinished runs are in no mean unless `with_unfinished`.
    """
    configured = [member for member in members if member.identity.config is not None]
    configs = [flatten_config(member.identity.full_config or {}) for member in configured]
    cards = [{} if pool_unlike else card for card in _cards(configured, configs, with_unfinished)]
    axes = [{**config, **card} for config, card in zip(configs, cards, strict=True)]
    names = distinguishing_axes(axes)
    by_config: dict[str, list[int]] = {}
    for index, values in enumerate(axes):
        by_config.setdefault(_text(values), []).append(index)
    groups = tuple(
        _pool(
            {name: axes[indices[0]].get(name) for name in names},
            [configured[index] for index in indices],
            with_unfinished,
        )
        for indices in by_config.values()
    )
    return Grouping(groups, _skip_other_cards(configured, configs, cards))


def _cards(members: Sequence[Member], configs: Sequence[Axes], with_unfinished: bool) -> list[Axes]:
    """Return the measurement card of each run.

    A run without a card that is in no mean, such as one that failed at the start, takes the first
    card of its config.
    """
    cards = [flatten_config(member.identity.measurement, "measurement") for member in members]
    first: dict[str, Axes] = {}
    in_means = [is_counted(member, with_unfinished) for member in members]
    for config, card, in_mean in zip(configs, cards, in_means, strict=True):
        if in_mean:
            first.setdefault(_text(config), card)
    return [
        card if card or in_mean else first.get(_text(config), {})
        for config, card, in_mean in zip(configs, cards, in_means, strict=True)
    ]


def flatten_config(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a config to dotted key -> value. `GROUP.name` becomes `GROUP`."""
    dotted: dict[str, Any] = {}
    for key, value in values.items():
        if not prefix and key in NO_AXES:
            continue
        path = f"{prefix}.{key}" if prefix else key
        if path.endswith(keys.CHANGES_NO_RUN):
            continue
        if isinstance(value, dict):
            dotted.update(flatten_config(value, path))
        else:
            dotted[path.removesuffix(".name")] = value
    return dotted


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def distinguishing_axes(axes: Sequence[Axes]) -> list[str]:
    """Return the axes that differ, without those determined by earlier axes (names come first)."""
    names = dict.fromkeys(key for values in axes for key in values)
    distinguishing: list[str] = []
    classes: list[tuple[str, ...]] = [() for _ in axes]
    for key in sorted(names, key=lambda name: (name.startswith("measurement"), "." in name)):
        finer = [
            (*label, _text(values.get(key))) for label, values in zip(classes, axes, strict=True)
        ]
        if len(set(finer)) > len(set(classes)):
            distinguishing.append(key)
            classes = finer
    return distinguishing


def is_counted(member: Member, with_unfinished: bool) -> bool:
    """Return whether a run is in the means of its group."""
    return member.is_readable and (with_unfinished or member.result.unfinished is None)


def _pool(key: Axes, members: Sequence[Member], with_unfinished: bool) -> GroupResult:
    runs = [member.result for member in members if is_counted(member, with_unfinished)]
    diverged = [
        member.result
        for member in members
        if member.diverged and not is_counted(member, with_unfinished)
    ]
    column = common_column(runs)
    failing = [run.run for run in runs if law_fails(run, column)]
    return GroupResult(
        key=dict(key),
        runs=[run.run for run in runs],
        law_fails=failing,
        a=_mean(runs, "a", column, len(diverged)),
        ceiling=_mean(runs, "ceiling", column, len(diverged)),
        gain=_mean(runs, "gain", column, len(diverged)),
        onset=_onset([*runs, *diverged]),
        unknown_seeds=count_unknown_seeds([run.seed for run in runs]),
        reward=column,
        why=why_no_column(runs),
        unfinished=[
            member.result.run for member in members if member.result.unfinished is not None
        ],
        diverged=[member.result.run for member in members if member.diverged],
    )


def _mean(runs: Sequence[RunResult], name: str, column: str | None, diverged: int) -> SeedMean:
    """Return the mean over the runs on one column.

    Diverged runs are censored, and for a and the ceiling also runs without a single law.
    """
    left_out = [name != "gain" and law_fails(run, column) for run in runs]
    numbers = [
        None if is_left_out else number_on(run, name, column)
        for run, is_left_out in zip(runs, left_out, strict=True)
    ]
    values = [*numbers, *[None] * diverged]
    return drop_interval_of_repeats(
        (unweighted_mean if name == "gain" else random_effects_mean)(values),
        [run.seed for run in runs],
    )


def _onset(runs: Sequence[RunResult]) -> SeedMean:
    """Return the mean onset. Runs without an onset, including diverged ones, are censored."""
    onsets = [run.onset.step for run in runs if run.onset and run.onset.is_collapse]
    onset = _clip_at_zero(mean_over_seeds(onsets, censored=len(runs) - len(onsets)))
    return drop_interval_of_repeats(onset, [run.seed for run in runs])


def _clip_at_zero(onset: SeedMean) -> SeedMean:
    """Clip the interval at 0: with few seeds it can reach before the first step."""
    return onset if onset.low is None else replace(onset, low=max(onset.low, 0.0))


def _skip_other_cards(
    members: Sequence[Member], configs: Sequence[Axes], cards: Sequence[Axes]
) -> tuple[SkippedPath, ...]:
    """Return an entry for each run whose card differs from that of the first run of its config."""
    first: dict[str, int] = {}
    entries = []
    for index, (member, card) in enumerate(zip(members, cards, strict=True)):
        first_index = first.setdefault(_text(configs[index]), index)
        differing = sorted(
            key
            for key in card.keys() | cards[first_index].keys()
            if card.get(key) != cards[first_index].get(key)
        )
        if differing:
            reason = (
                f"not pooled: {differing[0]} differs from that of {members[first_index].result.run}"
            )
            entries.append(SkippedPath(member.result.run, reason))
    return tuple(entries)
