"""Which remedies a config names, and whether they can act in it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from harness.config import ranges
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train import remedies
from harness.train.algorithms.remedy_roles import Bonus, Method, Ratio

ONE_ONLY = {Ratio: "the ratio's shape", Bonus: "a bonus for entropy"}
"""Roles that one method of a run can play."""


def names() -> list[str]:
    """Every method, by the name of its file."""
    return sorted(module.name for module in pkgutil.iter_modules(remedies.__path__))


def methods_of(config: RunConfig) -> tuple[Method, ...]:
    """Raises ConfigError, naming the dotted key, for what is no method, knob or combination."""
    made = tuple(_made(name, knobs) for name, knobs in config.remedy.methods.items())
    for role, what in ONE_ONLY.items():
        same = [method.name() for method in made if isinstance(method, role)]
        if len(same) > 1:
            raise ConfigError(
                f"remedy.methods must have one method at most that sets {what}, "
                f"got {' and '.join(same)}"
            )
    return made


def check(config: RunConfig) -> None:
    """Raises ConfigError too where none of a run's methods could ever act."""
    reasons = [method.idle(config) for method in methods_of(config)]
    if reasons and all(reasons):
        raise ConfigError(str(reasons[0]))


def _made(name: str, knobs: Any) -> Method:
    ranges.one_of("remedy.methods", name, names())
    method: type[Method] = importlib.import_module(f"{remedies.__name__}.{name}").METHOD
    key = f"remedy.methods.{name}"
    if not isinstance(knobs, Mapping):
        raise ConfigError(f"{key} must be a mapping of its keys to values, got {knobs!r}")
    allowed = [part.name for part in dataclasses.fields(method)]
    for given in knobs:
        ranges.one_of(f"a key of {key}", str(given), allowed)
    return method(**knobs)
