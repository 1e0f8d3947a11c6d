"""Conversion of a RunConfig to and from the values of config.yaml, and its hash."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any, get_type_hints

import yaml

from harness.config import keys
from harness.config.run import SCHEMA, RunConfig
from harness.errors import ConfigError
from harness.utils import shape


def to_dict(config: RunConfig) -> dict[str, Any]:
    """Convert to plain dicts, lists and scalars, with the schema version first."""
    return {"schema": SCHEMA, **dataclasses.asdict(config)}


def to_yaml(values: Mapping[str, Any]) -> str:
    """Return YAML that reads back as `values`.

    PyYAML leaves U+0085 (next line) as it is, which then counts as a line end, so a text with one
    is written in ASCII.
    """
    text = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)
    return yaml.safe_dump(dict(values), sort_keys=False) if "\x85" in text else text


def from_dict(values: Mapping[str, Any], where: str = "config.yaml") -> RunConfig:
    """Build a RunConfig, the inverse of `to_dict`. Keys missing in an older file get defaults.

    Raises ConfigError, naming the file `where` and the dotted key, for another schema, an unknown
    key, a value of another type, or a value out of range.
    """
    remaining = dict(values)
    schema = remaining.pop("schema", None)
    if schema != SCHEMA:
        raise ConfigError(f"{where}: schema must be {SCHEMA}, got {schema!r}")
    config: RunConfig = _build(RunConfig, remaining, where, "")
    return config


def _build(cls: Any, values: Any, where: str, key: str) -> Any:
    names = [f.name for f in dataclasses.fields(cls)]
    unknown = [name for name in values if name not in names] if isinstance(values, dict) else []
    if unknown:
        location = f"{where}: {key}" if key else where
        raise ConfigError(f"{location}: unknown key {unknown[0]!r}; allowed: {', '.join(names)}")
    problem = shape.problem(cls, _with_default_values(cls, values), key)
    if problem:
        raise ConfigError(f"{where}: {problem}")
    kinds = _part_types(cls)
    converted = {
        name: _build(kinds[name], value, where, shape.dotted(key, name)) if name in kinds else value
        for name, value in values.items()
    }
    try:
        return cls(**converted)
    except ConfigError as error:  # a level's error says `difficulty.clamp`, also below `levels`
        location = where if str(error).startswith(key) else f"{where}: {key}"
        raise ConfigError(f"{location}: {error}") from error


def with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the defaults of missing keys to the values of a config file, without validating them.

    Values with another schema version are returned unchanged.
    """
    return _fill_defaults(RunConfig, values) if values.get("schema") == SCHEMA else dict(values)


def _fill_defaults(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Add defaults recursively, after the existing keys, which keep their order."""
    kinds = _part_types(cls)
    return {
        name: _fill_defaults(kinds[name], value)
        if name in kinds and isinstance(value, Mapping)
        else value
        for name, value in {**values, **_with_default_values(cls, values)}.items()
    }


def missing_keys(values: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys that a config file lacks, since they were added after it."""
    return list(keys.compare_keys(values).lacking)


def unknown_keys(values: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys of a config file that this version does not know."""
    return list(keys.compare_keys(values).unknown)


def _with_default_values(cls: Any, values: Any) -> Any:
    """Add the defaults of missing keys, as plain values. `seed` gets none, since every version
    has written it.
    """
    if not isinstance(values, dict):
        return values
    defaults = {name: value for name, value in _defaults(cls).items() if name != "seed"}
    return {**defaults, **values}


@functools.cache
def _defaults(cls: Any) -> Mapping[str, Any]:
    """Return the defaults of a config class as plain values, for the keys that have one."""
    defaults: dict[str, Any] = {}
    for part in dataclasses.fields(cls):
        if part.default_factory is not dataclasses.MISSING:
            defaults[part.name] = _plain(part.default_factory())
        elif part.default is not dataclasses.MISSING:
            defaults[part.name] = _plain(part.default)
    return defaults


def _plain(value: Any) -> Any:
    is_part = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_part else value


@functools.cache
def _part_types(cls: Any) -> Mapping[str, type[Any]]:
    """Return the fields of a config class that are config classes themselves."""
    kinds: dict[str, type[Any]] = get_type_hints(cls)
    return {name: kind for name, kind in kinds.items() if dataclasses.is_dataclass(kind)}


def config_hash(config: RunConfig) -> str:
    """Return a hash of all values but the seed, 12 hex digits. Runs that differ only in their
    seed share it.
    """
    return hash_of(to_dict(config))


def choices_hash(config: RunConfig) -> str:
    """Return a hash of all values that are not defaults, with the seed, 12 hex digits. Keys added
    to harness since do not change it.
    """
    values = [(key, keys.value_at(config, key.name)) for key in keys.every_key()]
    return _digest({key.name: value for key, value in values if value != key.default})


def hash_of(values: Mapping[str, Any]) -> str:
    """`config_hash` of a config file's values; keys added to harness since do not change it."""
    return _digest({k: v for k, v in values.items() if k != "seed"})


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
