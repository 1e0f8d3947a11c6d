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
    configured = [m for m in members if m.identity.config is not None]
    configs = [flatten_config(m.identity.full_config or {}) for m in configured]
    cards = [{} if pool_unlike else card for card in _cards(configured, configs, with_unfinished)]
    axes = [{**config, **card} for config, card in zip(configs, cards, strict=True)]
    names = distinguishing_axes(axes)
    by_config: dict[str, list[int]] = {}
    for index, values in enumerate(axes):
        by_config.setdefault(_text(values), []).append(index)
    groups = tuple(
        _pool({n: axes[at[0]].get(n) for n in names}, [configured[i] for i in at], with_unfinished)
        for at in by_config.values()
    )
    return Grouping(groups, _skip_other_cards(configured, configs, cards))


def _cards(members: Sequence[Member], configs: Sequence[Axes], with_unfinished: bool) -> list[Axes]:
    """Return the measurement card of each run.

    A run without a card that is in no mean, such as one that failed at the start, takes the first
    card of its config.
    """
    measured = [flatten_config(m.identity.measurement, "measurement") for m in members]
    first: dict[str, Axes] = {}
    counted = [is_counted(member, with_unfinished) for member in members]
    for config, card, counts_too in zip(configs, measured, counted, strict=True):
        if counts_too:
            first.setdefault(_text(config), card)
    return [
        card if card or counts_too else first.get(_text(config), {})
        for config, card, counts_too in zip(configs, measured, counted, strict=True)
    ]


def flatten_config(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten a config to dotted key -> value. `GROUP.name` becomes `GROUP`."""
    dotted: dict[str, Any] = {}
    for key, value in values.items():
        if not above and key in NO_AXES:
            continue
        path = f"{above}.{key}" if above else key
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
    every = dict.fromkeys(key for values in axes for key in values)
    chosen: list[str] = []
    classes: list[tuple[str, ...]] = [() for _ in axes]
    for key in sorted(every, key=lambda k: (k.startswith("measurement"), "." in k)):
        finer = [(*c, _text(v.get(key))) for c, v in zip(classes, axes, strict=True)]
        if len(set(finer)) > len(set(classes)):
            chosen.append(key)
            classes = finer
    return chosen


def is_counted(member: Member, with_unfinished: bool) -> bool:
    """Return whether a run is in the means of its group."""
    return member.is_readable and (with_unfinished or member.result.unfinished is None)


def _pool(key: Axes, members: Sequence[Member], with_unfinished: bool) -> GroupResult:
    runs = [m.result for m in members if is_counted(m, with_unfinished)]
    lost = [m.result for m in members if m.diverged and not is_counted(m, with_unfinished)]
    column = common_column(runs)
    failing = [run.run for run in runs if law_fails(run, column)]
    return GroupResult(
        key=dict(key),
        runs=[r.run for r in runs],
        law_fails=failing,
        a=_mean(runs, "a", column, len(lost)),
        ceiling=_mean(runs, "ceiling", column, len(lost)),
        gain=_mean(runs, "gain", column, len(lost)),
        onset=_onset([*runs, *lost]),
        unknown_seeds=count_unknown_seeds([run.seed for run in runs]),
        reward=column,
        why=why_no_column(runs),
        unfinished=[m.result.run for m in members if m.result.unfinished is not None],
        diverged=[m.result.run for m in members if m.diverged],
    )


def _mean(runs: Sequence[RunResult], name: str, column: str | None, lost: int) -> SeedMean:
    """Return the mean over the runs on one column.

    Diverged runs are censored, and for a and the ceiling also runs without a single law.
    """
    left_out = [name != "gain" and law_fails(run, column) for run in runs]
    told = [
        None if out else number_on(run, name, column)
        for run, out in zip(runs, left_out, strict=True)
    ]
    of_runs = [*told, *[None] * lost]
    return drop_interval_of_repeats(
        (unweighted_mean if name == "gain" else random_effects_mean)(of_runs),
        [run.seed for run in runs],
    )


def _onset(runs: Sequence[RunResult]) -> SeedMean:
    """Return the mean onset. Runs without an onset, including diverged ones, are censored."""
    onsets = [run.onset.step for run in runs if run.onset and run.onset.is_collapse]
    onset = _within_the_run(mean_over_seeds(onsets, censored=len(runs) - len(onsets)))
    return drop_interval_of_repeats(onset, [run.seed for run in runs])


def _within_the_run(onset: SeedMean) -> SeedMean:
    """Clip the interval at 0: with few seeds it can reach before the first step."""
    return onset if onset.low is None else replace(onset, low=max(onset.low, 0.0))


def _skip_other_cards(
    members: Sequence[Member], configs: Sequence[Axes], cards: Sequence[Axes]
) -> tuple[SkippedPath, ...]:
    """Return an entry for each run whose card differs from that of the first run of its config."""
    first: dict[str, int] = {}
    entries = []
    for index, (member, card) in enumerate(zip(members, cards, strict=True)):
        other = first.setdefault(_text(configs[index]), index)
        unlike = sorted(
            k for k in card.keys() | cards[other].keys() if card.get(k) != cards[other].get(k)
        )
        if unlike:
            reason = f"not pooled: {unlike[0]} differs from that of {members[other].result.run}"
            entries.append(SkippedPath(member.result.run, reason))
    return tuple(entries)
