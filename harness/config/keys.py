"""The config keys: all of them, those that a config uses, those that a config file lacks.

Keys whose value is a location (a path, an address, the name of a variable) are marked. They are
omitted from what is published, such as the card of an exported model.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.config import ranges
from harness.config.ranges import ByOption, Condition, Location, Rule, Unit
from harness.config.run import RunConfig

PATH = re.compile(r"(?:^|[\s,:={}\[\]()'\"])(?:/|~|\.{1,2}/)\S|://")
"""Matches a text with an absolute, home or relative path, or an address, in it."""


@dataclass(frozen=True)
class Key:
    """One config key, as its field declares it."""

    name: str
    """Dotted name, as on the command line."""
    type: Any
    """The field's type without its annotations."""
    default: Any
    rule: Rule | None = None
    unit: str = ""
    conditions: tuple[Condition, ...] = ()
    """Conditions that must all hold for the key to have an effect."""
    by_option: bool = False
    """True if only an option file may set the key."""
    is_location: bool = False
    """True if the value is a path, an address or the name of a variable: see `names_location`."""

    @property
    def group(self) -> str:
        """`trainer` for trainer.steps; empty for a key of the run itself."""
        return self.name.rpartition(".")[0]

    @property
    def field(self) -> str:
        """`steps` for trainer.steps."""
        return self.name.rpartition(".")[2]


@functools.cache
def keys() -> Mapping[str, Key]:
    """Return dotted name -> key, for all keys except those of the named levels."""
    return {key.name: key for key in every_key() if not key.name.startswith("levels.")}


@functools.cache
def every_key() -> tuple[Key, ...]:
    """Return every key that config.yaml can contain."""
    return tuple(all_keys(RunConfig))


@functools.cache
def open_keys() -> tuple[str, ...]:
    """Return the names of keys with mappings as values, such as remedy.methods and reward.options.

    The keys inside are declared by the remedy, the algorithm or the plug-in.
    """
    return tuple(key.name for key in every_key() if typing.get_origin(key.type) is dict)


def is_in_open_key(name: str) -> bool:
    """Whether a dotted name is below one of `open_keys`."""
    return name.startswith(tuple(f"{key}." for key in open_keys()))


@functools.cache
def groups() -> tuple[str, ...]:
    """Return the names of the config groups, which have options in conf/."""
    return tuple(name for name in parts(RunConfig) if name != "levels")


def no_effect(config: RunConfig, key: Key) -> str | None:
    """Return the reason why `key` has no effect in a run with `config`; None if it has one."""
    for condition in key.conditions:
        value = value_at(config, condition.selector)
        if not condition.is_met(value):
            return condition.refusal(value)
    return None


CHANGES_NO_RUN = ".unchecked"
"""Key of a level that permits training on it and does not change the run."""


def used_values(config: RunConfig) -> dict[str, Any]:
    """Return the values of all keys that a run with `config` uses, which identify the run."""
    used = {
        key.name: value_at(config, key.name)
        for key in every_key()
        if no_effect(config, key) is None and not key.name.endswith(CHANGES_NO_RUN)
    }
    return {**used, "trainer.eval_every": config.trainer.evaluated_every}


@functools.cache
def own_keys(part: Any, prefix: str) -> tuple[Key, ...]:
    """Return the keys of one config class, without those of the classes inside it."""
    notes = ranges.annotated_parts(part)
    return tuple(
        _key(f"{prefix}.{field.name}" if prefix else field.name, field, *notes[field.name])
        for field in dataclasses.fields(part)
        if field.name not in parts(part)
    )


def parts(config: type) -> dict[str, Any]:
    """Return field name -> type for the fields of a config class that are config classes."""
    types = {name: notes[0] for name, notes in ranges.annotated_parts(config).items()}
    return {name: kind for name, kind in types.items() if dataclasses.is_dataclass(kind)}


def all_keys(config: type, prefix: str = "") -> Iterator[Key]:
    """Yield the keys of a config class and of the classes inside it."""
    yield from own_keys(config, prefix)
    for name, part in parts(config).items():
        yield from all_keys(part, f"{prefix}.{name}" if prefix else name)


def value_at(config: Any, name: str) -> Any:
    """Return the value of a dotted key."""
    return functools.reduce(getattr, name.split("."), config)


def _key(name: str, field: dataclasses.Field[Any], kind: Any, *notes: Any) -> Key:
    default = field.default_factory() if callable(field.default_factory) else field.default
    return Key(
        name,
        kind,
        default,
        next((note for note in notes if isinstance(note, Rule)), None),
        next((note.name for note in notes if isinstance(note, Unit)), ""),
        tuple(note for note in notes if isinstance(note, Condition)),
        any(isinstance(note, ByOption) for note in notes),
        any(isinstance(note, Location) for note in notes),
    )


@dataclass(frozen=True)
class KeyDifference:
    """The difference between the keys of a config file and those of this version."""

    unknown: tuple[str, ...]
    """Dotted keys that this version does not have."""
    lacking: Mapping[str, Any]
    """Dotted keys that the file does not have -> their defaults."""


def compare_keys(values: Mapping[str, Any]) -> KeyDifference:
    """Compare the keys of a config file's values with those of this version.

    Values are not compared, and `schema` does not count as a key.
    """
    expected = {key.name: key.default for key in every_key()}
    names = [name for name in _dotted_keys(values) if name != "schema"]
    missing = expected.keys() - set(names)
    return KeyDifference(
        tuple(name for name in names if name not in expected),
        {name: default for name, default in expected.items() if name in missing},
    )


def _dotted_keys(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of the leaves of nested mappings."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value and key not in open_keys():
            yield from _dotted_keys(value, f"{key}.")
        else:
            yield key


def names_location(key: str, value: Any) -> bool:
    """Whether the dotted `key` is declared as a location, or `value` contains a path or an address,
    as options of a plug-in may.
    """
    declared = keys().get(key)
    return (declared is not None and declared.is_location) or bool(PATH.search(str(value)))
