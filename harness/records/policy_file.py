"""harness.yaml in the folder of a model: the config for using the model as a policy.

`harness export` writes it without addresses, paths and names of environment variables. One can
also be written by a user, in the folder of any chat model:

    config: {policy: {kind: hf, system_prompt: You listen., max_turn_tokens: 64}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import keys
from harness.config.run import LEVELS, SCHEMA, RunConfig
from harness.errors import ConfigError, DataError
from harness.records import atomic, config_file, plain_file

NAME = "harness.yaml"
KEYS = ("schema", "step", "start_model", "left_out", "config")
MODEL = "policy.model"
MADE_FOR_ALL = ("policy.system_prompt",)
"""Keys that are kept even if their value looks like a location: the model needs them."""
HEADING = "# The policy that this model is; `harness probe NAME FOLDER` reads it.\n"


@dataclass(frozen=True)
class PolicyFile:
    """Contents of harness.yaml."""

    config: RunConfig
    """Keys that were left out have their defaults."""
    step: int = 0
    """Training step of the model; 0 if unknown."""
    start_model: str | None = None
    """sha256 of the model that training started from."""
    left_out: tuple[str, ...] = ()
    """Dotted keys omitted since their values are locations on the machine that trained."""
    levels_lacking: tuple[str, ...] = ()
    """Named levels that the file does not define; `config` has their defaults."""


def write(
    folder: Path, config: RunConfig, step: int, start_model: str | None, is_public: bool
) -> None:
    """Write the file. `is_public`: whether others can download policy.model by its name.

    Raises StorageError.
    """
    kept = (*MADE_FOR_ALL, MODEL) if is_public else MADE_FOR_ALL
    defaults = config_file.to_dict(RunConfig())
    values = config_file.to_dict(config)
    left_out = list(_remove_locations(values, defaults, kept, ""))
    about = {"schema": SCHEMA, "step": step, "start_model": start_model, "left_out": left_out}
    atomic.write_text(folder / NAME, HEADING + config_file.to_yaml({**about, "config": values}))


def _remove_locations(
    values: dict[str, Any], defaults: Any, kept: tuple[str, ...], prefix: str
) -> Iterator[str]:
    """Remove values that are locations and not defaults; yield their dotted keys."""
    for name in list(values):
        key, value = f"{prefix}{name}", values[name]
        default = defaults.get(name) if isinstance(defaults, Mapping) else None
        if isinstance(value, dict) and isinstance(default, Mapping):
            yield from _remove_locations(value, default, kept, f"{key}.")
        elif value != default and key not in kept and keys.names_location(key, value):
            del values[name]
            yield key


def read(folder: Path) -> PolicyFile:
    """Read the file. Raises DataError if it is not YAML, ConfigError for any other mistake."""
    path = folder / NAME
    values = plain_file.yaml_values(path)
    if not isinstance(values, dict) or not isinstance(values.get("config"), dict):
        raise ConfigError(f"{path}: config must be a mapping that has policy, got none")
    unknown = [name for name in values if name not in KEYS]
    if unknown:
        raise ConfigError(f"{path}: a key must be one of {', '.join(KEYS)}, got {unknown[0]!r}")
    config = config_file.from_dict({"schema": SCHEMA, "seed": 1, **values["config"]}, str(path))
    step, model, left_out = (
        values.get(name, default)
        for name, default in (("step", 0), ("start_model", None), ("left_out", []))
    )
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**63:
        raise ConfigError(f"{path}: step must be a number of steps, 0 or more, got {step!r:.60}")
    if not isinstance(model, str | None):
        raise ConfigError(f"{path}: start_model must be text or null, got {model!r:.60}")
    if not isinstance(left_out, list) or not all(isinstance(key, str) for key in left_out):
        raise ConfigError(f"{path}: left_out must be a list of keys, got {left_out!r:.60}")
    levels = values["config"].get("levels") or {}
    lacking = tuple(name for name in LEVELS if name not in levels)
    return PolicyFile(config, step, model, tuple(left_out), lacking)


def is_model(folder: Path) -> bool:
    """Whether `folder` contains a model and is not a run. Raises DataError if it is unreadable."""
    try:
        names = (NAME, "config.json", "adapter_config.json")
        is_run = (folder / "run.json").is_file()
        return not is_run and any((folder / name).is_file() for name in names)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{folder}: must be the folder of a run or a model, got: {why}") from error
