"""The algorithm and the remedies that a config names, from harness or from plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from harness.config import engine_choice, options, ranges
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train import algorithms, remedies
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.remedy_roles import (
    Bonus,
    Filling,
    Ratio,
    Remedy,
    Sharpening,
    Shift,
    TokenBonus,
    Weight,
)
from harness.utils import extensions

ONE_ONLY: dict[Any, str] = {
    Ratio: "the ratio's shape",
    Bonus | TokenBonus: "a bonus for entropy",
}
"""Roles that only one remedy of a run can play."""


def algorithm_names() -> list[str]:
    """Return all algorithms: the names of files in harness/train/algorithms, and of plug-ins."""
    return _names(algorithms, "algorithm")


def remedy_names() -> list[str]:
    """Return all remedies: the names of files in harness/train/remedies, and of plug-ins."""
    return _names(remedies, "remedy")


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the class of an algorithm of `algorithm_names`.

    Raises ConfigError if a plug-in's item is no Algorithm.
    """
    item: type[Algorithm] = _class(algorithms, "algorithm", name, Algorithm)
    return item


def remedy_class(name: str) -> type[Remedy]:
    """Return the class of a remedy of `remedy_names`.

    Raises ConfigError if a plug-in's item is no Remedy.
    """
    item: type[Remedy] = _class(remedies, "remedy", name, Remedy)
    return item


def algorithm_of(config: RunConfig) -> Algorithm:
    """Return the algorithm of `algorithm.kind` with its options.

    Raises ConfigError, naming the dotted key, for an unknown algorithm or a value out of range.
    """
    ranges.one_of("algorithm.kind", config.algorithm.kind, algorithm_names())
    return options.build(algorithm_class(config.algorithm.kind), config.algorithm.options)


def remedies_of(config: RunConfig) -> tuple[Remedy, ...]:
    """Return the remedies in `config.remedy.methods`.

    Raises ConfigError, naming the dotted key, for an unknown remedy or key, a value out of range,
    or two remedies that exclude each other.
    """
    chosen: list[Remedy] = []
    for name, values in config.remedy.methods.items():
        ranges.one_of("remedy.methods", name, remedy_names())
        chosen.append(options.build(remedy_class(name), values))
    for role, setting in ONE_ONLY.items():
        same = [remedy.name() for remedy in chosen if isinstance(remedy, role)]
        if len(same) > 1:
            raise ConfigError(
                f"remedy.methods must have one method at most that sets {setting}, "
                f"got {' and '.join(same)}"
            )
    return tuple(chosen)


def ratio_shape(config: RunConfig) -> str | None:
    """Return the remedy that replaces the algorithm's clip, if any."""
    return next((r.name() for r in remedies_of(config) if isinstance(r, Ratio)), None)


def reads_start_model(config: RunConfig) -> bool:
    """Return whether a language model's run scores replies under its start model.

    Served users do not need these scores. Raises ConfigError as `remedies_of` does.
    """
    if config.policy.start_model == "always" or config.simulator.kind != "served":
        return True
    by_remedy = any(remedy.needs_start for remedy in remedies_of(config))
    return by_remedy or algorithm_of(config).needs_start


def with_all_options(config: RunConfig) -> RunConfig:
    """Return the config with all keys of its algorithm and remedies filled in.

    Raises ConfigError for an unknown plug-in or option.
    """
    algorithm, remedy = config.algorithm, config.remedy
    chosen = algorithm_class(algorithm.kind)
    methods = {
        name: options.canonical(remedy_class(name), values)
        for name, values in remedy.methods.items()
    }
    return replace(
        config,
        algorithm=replace(algorithm, options=options.canonical(chosen, algorithm.options)),
        remedy=replace(remedy, methods=methods),
    )


def check(config: RunConfig) -> None:
    """Raise ConfigError if the algorithm or a remedy is invalid or cannot run with `config`, or if
    no remedy could have any effect.
    """
    algorithm, chosen = algorithm_of(config), remedies_of(config)
    algorithm.check(config)
    _check_together(algorithm, chosen, config)
    for remedy in chosen:
        remedy.check(config)
    reasons = [remedy.idle(config) for remedy in chosen]
    if reasons and all(reasons):
        raise ConfigError(str(reasons[0]))


def _check_together(algorithm: Algorithm, chosen: Sequence[Remedy], config: RunConfig) -> None:
    """Raise ConfigError for a remedy or an engine that does not fit the algorithm."""
    kind = f"algorithm.kind={config.algorithm.kind}"
    for remedy in chosen:
        verb = "redraws" if isinstance(remedy, Filling) else "leaves out"
        if remedy.needs_groups and not algorithm.needs_groups:
            rule = f"must go with an algorithm that compares groups, since it {verb} some"
            raise ConfigError(f"remedy.methods.{remedy.name()} {rule}, got {kind}")
        if remedy.needs_groups and not algorithm.compares_single:
            rule = f"must go with an algorithm that compares single rewards, since it {verb} groups"
            raise ConfigError(f"remedy.methods.{remedy.name()} {rule} by their spread, got {kind}")
        if remedy.needs_negative and not algorithm.has_negative:
            rule = (
                "must go with an algorithm whose advantages can be negative, since it treats them"
            )
            raise ConfigError(f"remedy.methods.{remedy.name()} {rule} separately, got {kind}")
        if isinstance(remedy, Ratio) and not algorithm.has_ratio:
            rule = "must go with an algorithm that has a ratio, since it shapes it"
            raise ConfigError(f"remedy.methods.{remedy.name()} {rule}, got {kind}")
        if isinstance(remedy, Weight | Ratio | Shift | Sharpening) and algorithm.by_conversation:
            rule = "must go with a ratio of tokens, since it weights or shapes single tokens"
            raise ConfigError(f"remedy.methods.{remedy.name()} {rule}, got {kind}")
    engine = engine_choice.engine_of(config) if config.policy.kind != "tabular" else "none"
    if algorithm.by_conversation and engine not in ("none", "transformers"):
        rule = "must be transformers with a ratio of whole conversations, since the loss of tokens"
        raise ConfigError(
            f"trainer.engine {rule} of other engines weights them separately ({kind}), got {engine}"
        )


def _names(package: ModuleType, kind: str) -> list[str]:
    return sorted({*_files(package), *extensions.names(kind)})


def _files(package: ModuleType) -> list[str]:
    return [module.name for module in pkgutil.iter_modules(package.__path__)]


def _class(package: ModuleType, kind: str, name: str, base: type) -> Any:
    """Return the class of this name from `package`, else from a plug-in.

    Raises ConfigError for a plug-in's item that is no `base`.
    """
    if name in _files(package):
        return getattr(importlib.import_module(f"{package.__name__}.{name}"), kind.upper())
    item = options.plug_in(kind, name, base)
    if item.name() != name:
        raise ConfigError(
            f"{extensions.group(kind)}: {name} must be the name of its file or what name() "
            f"returns, got {item.name()}"
        )
    return item
