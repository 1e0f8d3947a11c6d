"""What a run needs installed, asked before anything is created."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable

from harness import places
from harness.config import LEVELS, RunConfig
from harness.errors import ConfigError

FOR_LANGUAGE_MODELS = ("torch", "transformers", "trl")
FOR_SERVED_USERS = ("openai",)


def check(configs: Iterable[RunConfig]) -> None:
    """Raise ConfigError, with the command that installs it, if something is missing."""
    known = list(configs)
    _check_policies(known)
    for config in {repr((c.simulator, c.difficulty)): c for c in known}.values():
        if config.simulator.kind == "served":
            check_served(config)


def check_served(config: RunConfig) -> None:
    """Raise ConfigError if a served user lacks the client or the key, or nobody fits the level."""
    simulator = config.simulator
    absent = missing(FOR_SERVED_USERS)
    if absent:
        raise ConfigError(
            f"simulator.kind: served needs {', '.join(absent)}: {places.install_command('train')}"
        )
    name = simulator.api_key_env
    if name and not os.environ.get(name):
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")
    if simulator.profiles:
        from harness.simulator.served import cast

        for level in (config.difficulty, *(getattr(config.levels, name) for name in LEVELS)):
            cast.check(level, simulator)


def _check_policies(configs: Iterable[RunConfig]) -> None:
    kinds = {config.policy.kind for config in configs} - {"tabular"}
    absent = missing(FOR_LANGUAGE_MODELS)
    if kinds and absent:
        raise ConfigError(
            f"policy.kind: {min(kinds)} needs {', '.join(absent)}: "
            f"{places.install_command('train')}, or choose policy=tabular, which needs neither"
        )


def missing(modules: Iterable[str]) -> list[str]:
    """Those of `modules` that cannot be imported; none of them is imported."""
    return [name for name in modules if importlib.util.find_spec(name) is None]
