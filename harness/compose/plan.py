"""The plan of a command: every run with its config, checked together. Nothing is created."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.config import keys, reward, simulator
from harness.config.keys import Key
from harness.config.ranges import SomeOf
from harness.config.run import EvalConfig, RunConfig
from harness.errors import ConfigError

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
LONGEST_NAME = 96
CLIPS = ("algorithm.clip_low", "algorithm.clip_high")


@dataclass(frozen=True)
class Point:
    """One run of a plan: its overrides and the resulting config."""

    overrides: tuple[str, ...]
    values: Mapping[str, Any]
    """Key -> value of each override, with its own type."""
    config: RunConfig


@dataclass(frozen=True)
class Plan:
    """A whole sweep, composed and checked."""

    points: tuple[Point, ...]
    axes: Mapping[str, tuple[Any, ...]]
    """Swept key -> its distinct values."""
    names: tuple[str, ...]
    """Folder name of each point: N-LEVEL-seedS and the other swept values."""


def build(points: Sequence[Point], swept: Sequence[str]) -> Plan:
    """Check the points together and name their folders.

    Raises ConfigError for an empty sweep, a key without effect, a list with a name twice, two
    identical runs, options that a plug-in refuses, or a level whose name cannot be part of a
    folder name.
    """
    if not points:
        raise ConfigError("the sweep is empty: one of its axes has no values")
    _refuse_unused_keys(points, swept)
    _refuse_repeated_names(points)
    points = [_with_all_options(point) for point in points]
    _refuse_clips_that_a_remedy_replaces(points)
    _refuse_repeats(points)
    _check_plug_ins(points)
    axes = {key: _values(points, key) for key in swept}
    return Plan(tuple(points), axes, tuple(_names(points, axes)))


def _refuse_unused_keys(points: Sequence[Point], swept: Sequence[str]) -> None:
    """Raise ConfigError for a key that the user has set and that no run of the sweep uses.

    A key counts as set if it is swept, or if its value is not the default and either an override
    sets it or it belongs to another kind of its own group. Otherwise an option file has set it: an
    option of algorithm= may set keys for policies that the sweep does not use.
    """
    for key in keys.keys().values():
        reasons = [keys.no_effect(point.config, key) for point in points]
        if not all(reasons):
            continue
        is_typed = any(key.name in point.values for point in points)
        for point, reason in zip(points, reasons, strict=True):
            value = keys.value_at(point.config, key.name)
            is_set = value != key.default and (is_typed or _is_of_another_kind(point.config, key))
            if is_set or key.name in swept:
                raise ConfigError(f"{key.name}: {reason}, got {value}")


def _refuse_repeated_names(points: Sequence[Point]) -> None:
    """Raise ConfigError for a list with a name twice, which would count double.

    Checked here and not by the key's rule, since runs that were planned so must stay readable.
    """
    for key in keys.keys().values():
        for point in points if isinstance(key.rule, SomeOf) else ():
            names = keys.value_at(point.config, key.name)
            for name in names:
                if names.count(name) > 1:
                    given = f"[{','.join(names)}]"
                    raise ConfigError(f"{key.name} must name {name} once, got {given}")


def _is_of_another_kind(config: RunConfig, key: Key) -> bool:
    """True if a condition on the key's own group makes it unused."""
    within_group = [c for c in key.conditions if c.selector.startswith(f"{key.group}.")]
    return not all(c.is_met(keys.value_at(config, c.selector)) for c in within_group)


def _refuse_repeats(points: Sequence[Point]) -> None:
    """Raise ConfigError for two runs that differ only in keys that they do not use, if at all."""
    first_numbers: dict[str, int] = {}
    for number, point in enumerate(points):
        idle = _idle_keys(point.config)
        values = {k: v for k, v in keys.used_values(point.config).items() if k not in idle}
        first = first_numbers.setdefault(json.dumps(values, sort_keys=True), number)
        if first != number:
            words = " ".join(point.overrides)
            unused = "; ".join(_unused_words(point))
            raise ConfigError(
                f"runs {first} and {number} of the sweep are the same: {words}"
                f"{unused and f'; {unused}'}"
            )


def _unused_words(point: Point) -> Iterable[str]:
    """Yield a sentence for each override of the point that has no effect in its run."""
    idle = _idle_keys(point.config)
    for name in point.values:
        key = keys.keys().get(name)
        reason = (key and keys.no_effect(point.config, key)) or idle.get(name)
        if reason:
            yield f"{name} {reason}"


def _with_all_options(point: Point) -> Point:
    """Add the defaults of the algorithm's and the remedies' options to the point's config, so that
    equal options give equal configs. Raises ConfigError for options that these refuse.

    Plain GRPO is returned unchanged, since importing the algorithms needs numpy.
    """
    if _is_plain_grpo(point.config):
        return point
    from harness.train.objective import registry

    registry.check(point.config)
    return replace(point, config=registry.with_all_options(point.config))


def _refuse_clips_that_a_remedy_replaces(points: Sequence[Point]) -> None:
    """Raise ConfigError if an override sets a clip of the algorithm and every run has a remedy that
    replaces it. If some run has none, such as a control, the override is allowed.
    """
    typed = [key for key in CLIPS if any(key in point.values for point in points)]
    if not typed:
        return
    idle = [_idle_clips(point.config) for point in points]
    if all(idle):
        key = typed[0]
        got = keys.value_at(points[0].config, key)
        raise ConfigError(f"{key}: {idle[0][key]}, got {got}")


def _idle_keys(config: RunConfig) -> dict[str, str]:
    """Return the keys that have no effect because of another group's value, with the reason."""
    return {**_idle_clips(config), **_idle_evaluation(config)}


def _idle_evaluation(config: RunConfig) -> dict[str, str]:
    """Return the keys of evaluations that the run does not use, with the reason.

    They may be set: words that many runs share set them, and some of these runs evaluate nothing.
    """
    if not config.trainer.evaluated_every:
        why = "has no effect with trainer.eval_every=0, which leaves out all evaluations"
        return dict.fromkeys((key.name for key in keys.own_keys(EvalConfig, "eval")), why)
    if not config.eval.prefixes:
        why = "has no effect with eval.prefixes=0, since it splits what is measured on prefixes"
        return dict.fromkeys(("eval.ledger", "eval.ledger_draws"), why)
    return {}


def _idle_clips(config: RunConfig) -> dict[str, str]:
    """Return the algorithm's clip keys that a remedy replaces, with the reason for the message."""
    if not config.remedy.methods:
        return {}
    from harness.train.objective import registry

    shape = registry.ratio_shape(config)
    why = f"has no effect with remedy.methods.{shape}, which replaces the clip"
    return dict.fromkeys(CLIPS, why) if shape is not None else {}


def _is_plain_grpo(config: RunConfig) -> bool:
    algorithm = config.algorithm
    is_plain = algorithm.kind == "grpo" and not algorithm.options and algorithm.group_size > 1
    return is_plain and not config.remedy.methods


def _check_plug_ins(points: Sequence[Point]) -> None:
    """Check the options of plug-in rewards and simulators, importing only those in use."""
    for config in (point.config for point in points):
        if config.reward.mode not in reward.MODES:
            from harness.train.rollout import rewards

            rewards.make(config.reward)
        if config.simulator.kind not in simulator.KINDS:
            from harness.simulator import factory

            factory.plug_in(config.simulator)


def _values(points: Sequence[Point], key: str) -> tuple[Any, ...]:
    """Return the distinct values of a key, in order. 1 and True are distinct."""
    distinct = {repr(point.values[key]): point.values[key] for point in points}
    return tuple(distinct.values())


def _names(points: Sequence[Point], axes: Iterable[str]) -> Iterable[str]:
    other_keys = [key for key in axes if key not in ("difficulty", "seed")]
    for number, point in enumerate(points):
        level = point.config.difficulty.name
        if not FOLDER_NAME.fullmatch(level):
            raise ConfigError(
                "difficulty.name must be at most 32 letters, digits, '.', '_' or '-', since it "
                f"names the run's folder, got {level!r}"
            )
        swept = [_short_label(key, point.values[key]) for key in other_keys]
        name = "-".join([str(number), level, f"seed{point.config.seed}", *swept])
        yield re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:LONGEST_NAME]


def _short_label(key: str, value: Any) -> str:
    """Return `tabular` for policy=tabular, `steps5` for trainer.steps=5."""
    return f"{key.split('.')[-1]}{value}" if "." in key else str(value)
