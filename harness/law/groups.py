"""Runs alike in all but the seed, and their numbers pooled over seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.law import numbers, random_effects
from harness.law.identity import Identity
from harness.law.replicates import Replicate
from harness.law.results import GroupResult, Interval, Pooled, RunResult

Axes = Mapping[str, Any]
NO_AXES = {"seed", "schema"}


@dataclass(frozen=True)
class Member:
    """A fitted run, who it is, and what comparing it with others takes."""

    result: RunResult
    identity: Identity
    replicate: Replicate = field(default_factory=Replicate)
    nulls: tuple[Replicate, ...] = ()
    """Its null controls of its own seed."""


@dataclass(frozen=True)
class Grouping:
    """The groups, and which runs were kept apart from runs of the same config, and why."""

    groups: tuple[GroupResult, ...]
    skipped: tuple[dict[str, str], ...]


def group(members: Sequence[Member], pool_unlike: bool) -> Grouping:
    """Groups in the order of their first run; runs without a config belong to none.

    Runs of one config whose measurement cards differ are groups of their own unless
    `pool_unlike`.
    """
    known = [m for m in members if m.identity.config is not None]
    configs = [flat(m.identity.config or {}) for m in known]
    cards = [{} if pool_unlike else flat(m.identity.measurement, "measurement") for m in known]
    axes = [{**config, **card} for config, card in zip(configs, cards, strict=True)]
    names = _telling(axes)
    found: dict[str, list[int]] = {}
    for index, values in enumerate(axes):
        found.setdefault(_text(values), []).append(index)
    groups = tuple(
        _pool({n: axes[where[0]].get(n) for n in names}, [known[i].result for i in where])
        for where in found.values()
    )
    return Grouping(groups, _kept_apart(known, configs, cards))


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Dotted key -> value; the group's own name stands for `GROUP.name`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if not above and key in NO_AXES:
            continue
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            found.update(flat(value, path))
        else:
            found[path.removesuffix(".name")] = value
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _telling(axes: Sequence[Axes]) -> list[str]:
    """The axes that differ, without those that follow from the ones before (names come first)."""
    keys = dict.fromkeys(key for values in axes for key in values)
    chosen: list[str] = []
    classes: list[tuple[str, ...]] = [() for _ in axes]
    for key in sorted(keys, key=lambda k: (k.startswith("measurement"), "." in k)):
        finer = [(*c, _text(v.get(key))) for c, v in zip(classes, axes, strict=True)]
        if len(set(finer)) > len(set(classes)):
            chosen.append(key)
            classes = finer
    return chosen


def _pool(key: Axes, runs: Sequence[RunResult]) -> GroupResult:
    onsets = [run.onset.step for run in runs if run.onset and run.onset.is_collapse]
    seeds = [run.seed for run in runs]
    onset = _within_the_run(pooled(onsets, censored=len(runs) - len(onsets)))
    return GroupResult(
        key=dict(key),
        runs=[r.run for r in runs],
        a=over_seeds(weighed([r.a for r in runs]), seeds),
        ceiling=over_seeds(weighed([r.ceiling for r in runs]), seeds),
        onset=over_seeds(onset, seeds),
        gain=over_seeds(alike([r.gain for r in runs]), seeds),
        unknown_seeds=unknown(seeds),
    )


def unknown(seeds: Sequence[int | None]) -> int:
    """How many of several runs of one config may be repeats of another, for want of a seed."""
    return seeds.count(None) if len(seeds) > 1 else 0


def over_seeds(given: Pooled, seeds: Sequence[int | None]) -> Pooled:
    """Without an interval where runs may be repeats: the spread of repeats is not that of seeds."""
    return replace(given, low=None, high=None) if unknown(seeds) else given


def _within_the_run(onset: Pooled) -> Pooled:
    """Few seeds give an interval that reaches before the first step; no onset lies there."""
    return onset if onset.low is None else replace(onset, low=max(onset.low, 0.0))


def pooled(values: Sequence[float], censored: int) -> Pooled:
    """Mean over seeds and its 95% t interval; seeds, not steps, are the replicates."""
    n = len(values)
    if n == 0:
        return Pooled(None, None, None, 0, censored)
    mean = float(np.mean(values))
    if n == 1:
        return Pooled(mean, None, None, 1, censored)
    half = numbers.t_quantile(0.975, n - 1) * float(np.std(values, ddof=1)) / n**0.5
    return Pooled(mean, mean - half, mean + half, n, censored)


def alike(given: Sequence[Interval | None]) -> Pooled:
    """Mean over runs that count alike, as quantities.ALIKE says."""
    known = [interval.value for interval in given if interval is not None]
    return pooled(known, censored=len(given) - len(known))


def weighed(given: Sequence[Interval | None]) -> Pooled:
    """Mean by random effects: a run that hardly knows its number hardly counts."""
    known = [interval for interval in given if interval is not None]
    mean = random_effects.mean(random_effects.sample(known))
    if mean is None:
        return alike(given)
    interval = mean.interval()
    censored = len(given) - len(known)
    return Pooled(interval.value, interval.low, interval.high, len(known), censored)


def _kept_apart(
    members: Sequence[Member], configs: Sequence[Axes], cards: Sequence[Axes]
) -> tuple[dict[str, str], ...]:
    """One entry for each run whose card differs from that of the first run of its config."""
    first: dict[str, int] = {}
    entries = []
    for index, (member, card) in enumerate(zip(members, cards, strict=True)):
        other = first.setdefault(_text(configs[index]), index)
        unlike = sorted(
            k for k in card.keys() | cards[other].keys() if card.get(k) != cards[other].get(k)
        )
        if unlike:
            reason = f"not pooled: {unlike[0]} differs from that of {members[other].result.run}"
            entries.append({"path": member.result.run, "reason": reason})
    return tuple(entries)
