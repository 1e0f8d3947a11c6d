"""What a run needs installed, asked before anything is created."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable

from harness import places
from harness.config import RunConfig, SimulatorConfig
from harness.errors import ConfigError

FOR_LANGUAGE_MODELS = ("torch", "transformers", "trl")
FOR_SERVED_USERS = ("openai",)


def check(configs: Iterable[RunConfig]) -> None:
    """Raise ConfigError, with the command that installs it, if something is missing."""
    known = list(configs)
    _check_policies(known)
    for simulator in {config.simulator for config in known if config.simulator.kind == "served"}:
        check_served(simulator)


def check_served(simulator: SimulatorConfig) -> None:
    """Raise ConfigError if the client or the key of a served user is missing."""
    absent = missing(FOR_SERVED_USERS)
    if absent:
        raise ConfigError(
            f"simulator.kind: served needs {', '.join(absent)}: {places.install_command('train')}"
        )
    name = simulator.api_key_env
    if name and not os.environ.get(name):
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")


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
