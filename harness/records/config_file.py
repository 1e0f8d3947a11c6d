"""A RunConfig as plain values: what config.yaml holds, and the hash that its seeds share."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.config import SCHEMA, RunConfig
from harness.errors import ConfigError


def to_dict(config: RunConfig) -> dict[str, Any]:
    """Plain dicts, lists and scalars, with the schema version first."""
    return {"schema": SCHEMA, **dataclasses.asdict(config)}


def from_dict(values: Mapping[str, Any], where: str = "config.yaml") -> RunConfig:
    """The inverse of `to_dict`. Raises ConfigError for an unknown schema or key, or a bad value."""
    given = dict(values)
    schema = given.pop("schema", None)
    if schema != SCHEMA:
        raise ConfigError(f"{where}: schema must be {SCHEMA}, got {schema!r}")
    config: RunConfig = _build(RunConfig, given, where)
    return config


def _build(cls: type[Any], values: Mapping[str, Any], where: str) -> Any:
    parts = {f.name: f for f in dataclasses.fields(cls)}
    kinds = _part_types(cls)
    for key in values:
        if key not in parts:
            raise ConfigError(f"{where}: unknown key {key!r}; allowed: {', '.join(parts)}")
    return cls(
        **{
            key: _build(kinds[key], value, f"{where}: {key}") if key in kinds else value
            for key, value in values.items()
        }
    )


def _part_types(cls: type[Any]) -> dict[str, type[Any]]:
    """Which fields of a config class are config classes themselves."""
    return {
        f.name: f.default_factory  # type: ignore[misc]
        for f in dataclasses.fields(cls)
        if dataclasses.is_dataclass(f.default_factory)
    }


def config_hash(config: RunConfig) -> str:
    """12 hex digits of everything but the seed: seeds of one config share it."""
    values = {k: v for k, v in to_dict(config).items() if k != "seed"}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
