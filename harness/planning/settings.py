"""Convert typed overrides to levels, and a design to overrides.

Typed settings are kept. All others come from the pilot, and are written into the command if they
differ from the defaults.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from harness.compose import planner
from harness.compose.grammar import parse
from harness.config import keys
from harness.config.run import RunConfig
from harness.config.typed_value import typed_value
from harness.errors import ConfigError
from harness.law.compare import groups
from harness.records import config_file

SEED = "seed"
STEPS, EVERY, USERS, REPEATS = (
    "trainer.steps", "trainer.eval_every", "eval.users", "eval.repeats",
)  # fmt: skip
SIZES = (STEPS, EVERY, USERS, REPEATS)
"""The keys that a design sets in addition to the seeds."""
NULL_CONTROLS = "algorithm.null_control=false,true"
OPTIONS = ("algorithm.options.", "reward.options.", "simulator.options.", "remedy.methods.")
"""Beginnings of the keys that an algorithm, a remedy or a plug-in declares."""
NEUTRAL = (
    "trainer.checkpoint_every", "trainer.keep_every", "trainer.conversations_every",
    "trainer.report_to", "trainer.grace_s", "trainer.deadline_s", "trainer.waves", "eval.deaf",
    "eval.ledger", "eval.ledger_draws",
)  # fmt: skip
"""Keys that do not affect the numbers by which levels are compared."""


@dataclass(frozen=True)
class RequestedLevels:
    """The requested levels."""

    words: tuple[str, ...]
    """The overrides that define the levels, without seeds."""
    typed: frozenset[str]
    """The keys that were typed."""
    axes: tuple[str, ...]
    names: tuple[str, ...]
    """The name of each level by its axes, such as difficulty=hard."""
    overrides: tuple[tuple[str, ...], ...]
    """The overrides in which each level differs from the others."""
    configs: tuple[RunConfig, ...]
    pairs: tuple[tuple[int, int], ...]
    """Pairs (later, baseline) of levels that differ in one axis."""

    @property
    def flat(self) -> list[dict[str, Any]]:
        """The settings of each level, with dotted keys and without the seed."""
        return [flat(config) for config in self.configs]


def flat(config: RunConfig) -> dict[str, Any]:
    """Return dotted key -> value, as read from a run folder."""
    return groups.flatten_config(json.loads(json.dumps(config_file.to_dict(config))))


def parse_levels(typed: Sequence[str], base: Sequence[str] = ()) -> RequestedLevels:
    """Return the levels that `typed` defines on top of `base`. Raise ConfigError below two."""
    own_keys = typed_keys(typed)
    words = (*base, *typed)
    plan = planner.plan([*words, "seed=1"])
    axes = tuple(plan.axes)
    swept = [key for key in (*SIZES,) if key in axes]
    if swept:
        raise ConfigError(f"{swept[0]}: a plan needs one value of this key, got several")
    if len(plan.points) < 2:
        raise ConfigError(
            "a plan needs at least two levels to compare, as difficulty=easy,hard; got "
            f"{' '.join(words) or 'no level'}"
        )
    values = [tuple(point.values[axis] for axis in axes) for point in plan.points]
    pairs = [
        (later, baseline)
        for baseline, later in combinations(range(len(values)), 2)
        if sum(a != b for a, b in zip(values[later], values[baseline], strict=True)) == 1
    ]
    configs = tuple(point.config for point in plan.points)
    overrides = tuple(
        tuple(f"{a}={typed_value(v)}" for a, v in zip(axes, value, strict=True)) for value in values
    )
    names = tuple(map(", ".join, overrides))
    return RequestedLevels(words, own_keys, axes, names, overrides, configs, tuple(pairs))


def typed_keys(words: Sequence[str]) -> frozenset[str]:
    """Return the keys of the overrides. Raise ConfigError for seeds, which the plan chooses, and
    for `sweeps`.
    """
    with planner.composing():
        override_keys = frozenset(word.key for word in parse(words))
    if SEED in override_keys:
        raise ConfigError("seed: must not be given, since a plan determines the number of seeds")
    if "sweeps" in override_keys:
        raise ConfigError(
            "sweeps: must not be given; name the levels as overrides: difficulty=easy,hard"
        )
    return override_keys


def differing_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the keys in which two settings differ, except those of a design and NEUTRAL ones."""
    differing = sorted(k for k in one.keys() | other.keys() if one.get(k) != other.get(k))
    return [key for key in differing if key not in (*SIZES, *NEUTRAL)]


def words_of(config: Mapping[str, Any], typed: frozenset[str]) -> list[str]:
    """Return overrides that reproduce the settings of a run, except for the typed keys.

    Options of config groups come first, then single keys that differ from these options.
    """
    defaults = flat(planner.point([]).config)
    typed_groups = {key for key in typed if key in keys.groups()}
    group_words = [
        f"{group}={config[group]}"
        for group in keys.groups()
        if group not in typed_groups and config.get(group) != defaults.get(group)
    ]
    group_config, known_keys = flat(planner.point(group_words).config), keys.keys()
    key_words = [
        f"{key}={typed_value(value)}"
        for key, value in config.items()
        if group_config.get(key) != value
        and key not in typed
        and key not in keys.groups()
        and key.split(".")[0] not in typed_groups
        and key not in NEUTRAL
        and (key in known_keys or key.startswith(OPTIONS))
    ]
    return [*group_words, *key_words]


def swept_words(requested: RequestedLevels) -> list[str]:
    """Return the overrides in which the levels differ."""
    return [word for word in requested.words if word.split("=")[0].lstrip("+") in requested.axes]


def with_sizes(requested: RequestedLevels, sizes: Mapping[str, int]) -> list[str]:
    """Return the overrides, updated by the sizes of a design that differ."""
    current = requested.flat[0]
    changed = {key: size for key, size in sizes.items() if current.get(key) != size}
    kept = [word for word in requested.words if word.split("=")[0].lstrip("+") not in changed]
    return [*kept, *(f"{key}={size}" for key, size in changed.items())]


def command(program: str, words: Sequence[str], first: int, seeds: int) -> str:
    """Return the shell command with overrides and a range of seeds."""
    overrides = [*words, f"seed=range({first},{first + seeds})"]
    return " ".join([program, *map(shlex.quote, overrides)])
