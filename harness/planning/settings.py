"""What is asked for: the levels that the words make, and the words that make a design of them.

What is typed is kept. What is not typed is the pilot's: its settings are written into the command
where they are not the defaults.
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
from harness.errors import ConfigError
from harness.law.compare import groups
from harness.records import config_file

SEED = "seed"
STEPS, EVERY, USERS, REPEATS = (
    "trainer.steps", "trainer.eval_every", "eval.users", "eval.repeats",
)  # fmt: skip
SIZES = (STEPS, EVERY, USERS, REPEATS)
"""The keys of a design, beside the seeds."""
NULL_CONTROLS = "algorithm.null_control=false,true"
NEUTRAL = (
    "trainer.checkpoint_every", "trainer.keep_every", "trainer.conversations_every",
    "trainer.report_to", "trainer.grace_s", "trainer.deadline_s", "trainer.waves", "eval.deaf",
    "eval.ledger", "eval.ledger_draws",
)  # fmt: skip
"""Keys that change no number that levels are compared by."""


@dataclass(frozen=True)
class Asked:
    """The levels asked for, before anything is known of them."""

    words: tuple[str, ...]
    """That make the levels, without seeds."""
    typed: frozenset[str]
    """The keys that were typed."""
    axes: tuple[str, ...]
    names: tuple[str, ...]
    """Of each level, as its run would be told apart: difficulty=hard."""
    configs: tuple[RunConfig, ...]
    pairs: tuple[tuple[int, int], ...]
    """Levels that differ in one axis: the later and the baseline."""

    @property
    def flat(self) -> list[dict[str, Any]]:
        """The settings of each level, dotted, without the seed."""
        return [flat(config) for config in self.configs]


def flat(config: RunConfig) -> dict[str, Any]:
    """Dotted key -> value, as a run folder that was read back has it."""
    return groups.flat(json.loads(json.dumps(config_file.to_dict(config))))


def asked(typed: Sequence[str], base: Sequence[str] = ()) -> Asked:
    """The levels that `typed` makes on top of `base`. Raises ConfigError for less than two."""
    own = typed_keys(typed)
    words = (*base, *typed)
    plan = planner.plan([*words, "seed=1"])
    axes = tuple(plan.axes)
    swept = [key for key in (*SIZES,) if key in axes]
    if swept:
        raise ConfigError(f"{swept[0]}: a plan chooses one value of it, got several")
    if len(plan.points) < 2:
        raise ConfigError(
            "a plan needs two levels to compare at least, as difficulty=easy,hard; got "
            f"{' '.join(words) or 'no level'}"
        )
    values = [tuple(point.values[axis] for axis in axes) for point in plan.points]
    names = [", ".join(f"{a}={v}" for a, v in zip(axes, value, strict=True)) for value in values]
    apart = [
        (later, baseline)
        for baseline, later in combinations(range(len(values)), 2)
        if sum(a != b for a, b in zip(values[later], values[baseline], strict=True)) == 1
    ]
    configs = tuple(point.config for point in plan.points)
    return Asked(words, own, axes, tuple(names), configs, tuple(apart))


def typed_keys(words: Sequence[str]) -> frozenset[str]:
    """Raises ConfigError for a seed among them: how many there are is the plan's to say."""
    with planner.composing():
        found = frozenset(word.key for word in parse(words))
    if SEED in found:
        raise ConfigError("seed: a plan says how many seeds there should be, and takes none")
    if "sweeps" in found:
        raise ConfigError("sweeps: a plan takes its levels as words: difficulty=easy,hard")
    return found


def unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys, but for those of a design, that make two settings two levels."""
    apart = sorted(k for k in one.keys() | other.keys() if one.get(k) != other.get(k))
    return [key for key in apart if key not in (*SIZES, *NEUTRAL)]


def words_of(config: Mapping[str, Any], typed: frozenset[str]) -> list[str]:
    """Words that make the settings of a run, but for the keys that were typed.

    Options of groups by name, then single keys where these differ from what the options set.
    """
    defaults = flat(planner.point([]).config)
    typed_groups = {key for key in typed if key in keys.groups()}
    named = [
        f"{group}={config[group]}"
        for group in keys.groups()
        if group not in typed_groups and config.get(group) != defaults.get(group)
    ]
    made, known = flat(planner.point(named).config), keys.keys()
    single = [
        f"{key}={_written(value)}"
        for key, value in config.items()
        if made.get(key) != value
        and key not in typed
        and key not in keys.groups()
        and key.split(".")[0] not in typed_groups
        and key not in NEUTRAL
        and key in known
    ]
    return [*named, *single]


def _written(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, str) and not value.replace("_", "").replace("-", "").isalnum():
        return "'" + value.replace("'", r"\'") + "'"
    return str(value)


def swept_words(asked: Asked) -> list[str]:
    """The words that make the levels differ."""
    return [word for word in asked.words if word.split("=")[0].lstrip("+") in asked.axes]


def sized(asked: Asked, sizes: Mapping[str, int]) -> list[str]:
    """The words with the sizes of a design put in, where they do not make these already."""
    made = asked.flat[0]
    other = {key: size for key, size in sizes.items() if made.get(key) != size}
    kept = [word for word in asked.words if word.split("=")[0].lstrip("+") not in other]
    return [*kept, *(f"{key}={size}" for key, size in other.items())]


def command(program: str, words: Sequence[str], first: int, seeds: int) -> str:
    """The words as a shell takes them."""
    every = [*words, f"seed=range({first},{first + seeds})"]
    return " ".join([program, *map(shlex.quote, every)])
