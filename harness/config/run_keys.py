"""The keys of a run: which there are, which one config uses, and which a config file lacks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.config import fields
from harness.config.fields import Key
from harness.config.run import RunConfig

METHODS = "remedy.methods"
"""Below it stand the keys of methods, which the methods declare themselves."""


@functools.cache
def keys() -> Mapping[str, Key]:
    """Every key but those of the named levels, by dotted name."""
    return {key.name: key for key in every_key() if not key.name.startswith("levels.")}


@functools.cache
def every_key() -> tuple[Key, ...]:
    """Every key that config.yaml can hold."""
    return tuple(fields.all_keys(RunConfig))


@functools.cache
def groups() -> tuple[str, ...]:
    """The parts of a config that have options in conf/."""
    return tuple(name for name in fields.parts(RunConfig) if name != "levels")


def no_effect(config: RunConfig, key: Key) -> str | None:
    """Why `key` does nothing in a run of `config`; None if it is used."""
    for condition in key.conditions:
        value = fields.value_at(config, condition.selector)
        if not condition.met(value):
            return condition.refusal(value)
    return None


def used_values(config: RunConfig) -> dict[str, Any]:
    """The values of all keys that a run of `config` uses: two runs with the same are one run."""
    return {
        key.name: fields.value_at(config, key.name)
        for key in every_key()
        if no_effect(config, key) is None
    }


@dataclass(frozen=True)
class Difference:
    """How the keys of a config file differ from those of this version."""

    unknown: tuple[str, ...]
    """Dotted keys that this version does not have, as a newer one may."""
    lacking: Mapping[str, Any]
    """Dotted keys that the file does not have, as an older one may, with their defaults."""


def difference(values: Mapping[str, Any]) -> Difference:
    """Compare the keys of a config file's values with those of this version; values themselves are
    not looked at, and `schema` is no key.
    """
    expected = {key.name: key.default for key in every_key()}
    given = [name for name in _dotted(values) if name != "schema"]
    absent = expected.keys() - set(given)
    return Difference(
        tuple(name for name in given if name not in expected),
        {name: default for name, default in expected.items() if name in absent},
    )


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The keys of nested mappings, a part's own name left out where it holds keys."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and key != METHODS:
            yield from _dotted(value, f"{key}.")
        else:
            yield key
