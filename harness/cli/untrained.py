"""Overrides of commands that train nothing: the keys that they take, and the one config they
choose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.compose import planner
from harness.compose.grammar import parse
from harness.compose.overrides import without_secret
from harness.config import keys
from harness.config.run import RunConfig
from harness.errors import ConfigError

OF_USERS = ("seed", "difficulty", "simulator")
"""Keys, and groups of keys, that say who the user is."""
OF_RUNS = ("seed", "hydra")
"""Keys of a run that are in no group of its config, and the group that is no part of it."""


def one_user(overrides: Sequence[str], command: str) -> RunConfig:
    """Return the config of `overrides`.

    Raises ConfigError for a sweep, and for a key that has no effect on a user.
    """
    refuse_others(overrides, command, OF_USERS)
    plan = planner.plan(overrides)
    for axis, values in plan.axes.items():
        raise ConfigError(f"{axis}: {command} has one user; give one value, got {len(values)}")
    return plan.points[0].config


def refuse_others(typed: Sequence[str], command: str, effective: Sequence[str]) -> None:
    """Raise ConfigError for a key of a run that has no effect in `command`.

    `effective`: the keys, and groups of keys, that have one. Keys that a sweep file sets are
    allowed, since they are meant for runs.
    """
    with planner.composing():
        words = parse(typed)
    ineffective = {*OF_RUNS, *keys.groups()}.difference(effective)
    for word in words:
        if re.split(r"[./]", word.key)[0] in ineffective and word.key not in effective:
            *most, last = effective
            rule = f"{command} trains nothing, so only {', '.join(most)} and {last} have an effect"
            raise ConfigError(f"{word.key}: {rule}, got {without_secret(word.text)}")
