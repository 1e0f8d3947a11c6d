"""Checks the settings of a launcher: only plain values of listed keys, never code or an address.

A launcher's class comes from the entry that an installed plugin registers. Its settings may come
from a conf/ in the current folder, from a sweep file, or from the sweep.json of somebody else, so
each is checked against a list of allowed keys per plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import ConfigError

TARGET = "_target_"
LOCAL_PLUGINS = ("basic", "joblib")
"""Plugins that execute the runs on this machine."""
TEXT = re.compile(r"[][A-Za-z0-9_.,:=@%+-]{1,200}")
"""Excludes blanks, quotes, slashes, `$` and line ends, so that the text stays one argument."""


@dataclass(frozen=True)
class Launcher:
    """A launcher of an installed plugin, and its settings."""

    plugin: str
    """Name of the launcher, as in `hydra/launcher=NAME`."""
    settings: Mapping[str, Any]
    """Dotted key below hydra.launcher -> value, for values that differ from the plugin's own."""

    @property
    def is_local(self) -> bool:
        """True if runs are executed on this machine."""
        return self.plugin in LOCAL_PLUGINS


@dataclass(frozen=True)
class CountSetting:
    """A whole number from `low` to `high`, or null."""

    low: int = 0
    high: int = 1_000_000

    def problem(self, value: Any) -> str | None:
        fits = type(value) is int and self.low <= value <= self.high
        rule = f"a whole number between {self.low} and {self.high}"
        return None if value is None or fits else rule


@dataclass(frozen=True)
class FlagSetting:
    """true or false."""

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, bool) else "true or false"


@dataclass(frozen=True)
class NameSetting:
    """A word such as a partition or a memory size, or null."""

    def problem(self, value: Any) -> str | None:
        fits = type(value) in (int, float) or (isinstance(value, str) and TEXT.fullmatch(value))
        rule = "one word of letters, digits and []_.,:=@%+-"
        return None if value is None or fits else rule


@dataclass(frozen=True)
class FixedSetting:
    """A single allowed value."""

    value: Any

    def problem(self, value: Any) -> str | None:
        return None if value == self.value else f"{self.value!r}"


Rule = CountSetting | FlagSetting | NameSetting | FixedSetting
AUTO = "auto"
QUEUE: Mapping[str, Rule] = {
    "timeout_min": CountSetting(1),
    **dict.fromkeys(
        ("tasks_per_node", "nodes"), FixedSetting(1)
    ),  # a run is started by one process
    **dict.fromkeys(("cpus_per_task", "gpus_per_node", "mem_gb"), CountSetting()),
    "stderr_to_stdout": FlagSetting(),
}
SLURM_WORDS = (
    "partition", "qos", "comment", "constraint", "exclude", "gres", "mem_per_gpu", "mem_per_cpu",
    "account", "name",
)  # fmt: skip
MORE_OF_SLURM = ("reservation", "nodelist", "licenses", "time_min", "hint", "nice")
ALLOWED: Mapping[str, Mapping[str, Rule]] = {
    "basic": {},
    "joblib": {
        "n_jobs": CountSetting(1, 4096),
        "batch_size": CountSetting(1, 4096),
        "verbose": CountSetting(0, 100),
    },
    "submitit_local": QUEUE,
    "submitit_slurm": {
        **QUEUE,
        "nodes": CountSetting(1, 64),  # must equal trainer.nodes
        **dict.fromkeys(SLURM_WORDS, NameSetting()),
        **dict.fromkeys(("cpus_per_gpu", "gpus_per_task", "array_parallelism"), CountSetting()),
        **dict.fromkeys(("signal_delay_s", "max_num_timeout"), CountSetting()),
        **dict.fromkeys((f"additional_parameters.{key}" for key in MORE_OF_SLURM), NameSetting()),
        "additional_parameters.requeue": FlagSetting(),
        "additional_parameters.exclusive": FlagSetting(),
    },
    # Ray trusts whatever a server at its address sends, so the address comes from $RAY_ADDRESS only
    "ray": {
        "ray.init.address": FixedSetting(AUTO),
        "ray.init.object_store_memory": FixedSetting(None),
        **dict.fromkeys(("ray.init.num_cpus", "ray.init.num_gpus"), CountSetting()),
        **dict.fromkeys(("ray.remote.num_cpus", "ray.remote.num_gpus"), NameSetting()),
        "ray.remote.max_retries": CountSetting(-1),
    },
}
"""Plugin -> key below hydra.launcher -> rule for its value. Keys that name a program, a file or an
address, such as `setup`, `python` and `srun_args`, are excluded on purpose.
"""


def parse_launcher(
    composed: Mapping[str, Any], installed: Mapping[str, Mapping[str, Any]]
) -> Launcher:
    """Return the launcher that a composed `hydra.launcher` describes.

    `installed`: launcher name -> the entry that its plugin registers. Both arguments are plain
    values with interpolations unresolved. Raises ConfigError for a class that no installed plugin
    has, and for a setting that is not allowed.
    """
    target = composed.get(TARGET)
    plugin = next((name for name, entry in installed.items() if entry.get(TARGET) == target), None)
    if plugin is None:
        names = ", ".join(sorted(installed))
        rule = f"must be that of an installed plugin ({names}) and cannot be set"
        raise ConfigError(f"hydra.launcher.{TARGET}: a launcher's class {rule}; got {target!r:.80}")
    defaults = dict(_flat(installed[plugin]))
    settings = {k: value for k, value in _flat(composed) if defaults.get(k, ...) != value}
    for key, value in settings.items():
        _check(plugin, defaults, key, value)
    return Launcher(plugin, {key: _to_int(value) for key, value in settings.items()})


def _check(plugin: str, defaults: Mapping[str, Any], key: str, value: Any) -> None:
    """Raise ConfigError for a setting that is not allowed. Plugins that are not in ALLOWED may get
    values for their own integer and boolean settings.
    """
    rules = ALLOWED.get(plugin)
    if rules is None:
        rules = {k: _rule_of(v) for k, v in defaults.items() if isinstance(v, bool | int)}
    if key not in rules:
        allowed = ", ".join(rules) or "none"
        raise ConfigError(
            f"hydra.launcher.{key}: not a setting of the launcher {plugin} that can be changed; "
            f"allowed: {allowed}"
        )
    rule = rules[key].problem(_to_int(value))
    if rule is not None:
        raise ConfigError(f"hydra.launcher.{key}: must be {rule}, got {value!r:.80}")


def _rule_of(value: bool | int) -> Rule:
    return FlagSetting() if isinstance(value, bool) else CountSetting(-1)


def _to_int(value: Any) -> Any:
    """Convert whole numbers given as text to int, since joblib's entry has them as text."""
    is_text = isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value)
    return int(value) if is_text else value


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value for each leaf; an empty mapping yields nothing."""
    for name, value in values.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, Mapping):
            yield from _flat(value, key)
        else:
            yield key, value
