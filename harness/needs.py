"""What a run needs installed, asked before anything is created."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from harness import places
from harness.config import RunConfig
from harness.errors import ConfigError

FOR_LANGUAGE_MODELS = ("torch", "transformers", "trl")


def check(configs: Iterable[RunConfig]) -> None:
    """Raise ConfigError, with the command that installs it, if something is missing."""
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
