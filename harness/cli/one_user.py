"""The one user whom the words of a command choose, where nothing is trained."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.compose import planner
from harness.compose.grammar import parse
from harness.compose.overrides import unsecret
from harness.config import keys
from harness.config.run import RunConfig
from harness.errors import ConfigError

OF_USERS = ("seed", "difficulty", "simulator")
"""Keys, and groups of keys, that say who the user is."""
OF_HYDRA = "hydra"


def chosen(overrides: Sequence[str], command: str) -> RunConfig:
    """Return the config that `overrides` make.

    Raises ConfigError for a sweep, and for a key that changes nothing of a user.
    """
    _refuse_of_training(overrides, command)
    plan = planner.plan(overrides)
    for axis, values in plan.axes.items():
        raise ConfigError(f"{axis}: {command} has one user; give one value, got {len(values)}")
    return plan.points[0].config


def _refuse_of_training(typed: Sequence[str], command: str) -> None:
    """Raise ConfigError for a key of a run that changes nothing of a user, whatever its value. What
    a sweep file sets may stand: it is there for runs.
    """
    with planner.composing():
        words = parse(typed)
    others = {OF_HYDRA, *keys.groups()}.difference(OF_USERS)
    for word in words:
        if re.split(r"[./]", word.key)[0] in others:
            *most, last = OF_USERS
            rule = f"{command} trains nothing, so only {', '.join(most)} and {last} change it"
            raise ConfigError(f"{word.key}: {rule}, got {unsecret(word.text)}")
