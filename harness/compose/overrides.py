"""Checks of command-line overrides, with messages that suggest the nearest valid key.

Hydra finds most mistakes too, but only while composing and with messages of several lines. Some it
accepts: `+typo=1` bypasses a schema, a repeated value runs twice, and `hydra.*` can be set freely.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.compose import search_path
from harness.config import keys, ranges
from harness.config.run import RunConfig
from harness.config.typed_value import typed_value
from harness.errors import ConfigError

MOST_RUNS = 1000
LAUNCHER = "hydra/launcher"
OF_LAUNCHER = "hydra.launcher."
RESOLVER = re.compile(r"\$\{[^{}]*(?::|\$\{)")
"""Matches interpolations with a colon, which call a resolver, and nested ones, which may."""
SECRET = re.compile(r"key=|token|secret|passw|://", re.I)
"""Matches overrides that may contain a secret, which messages must not repeat."""
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ParsedOverride:
    """One override, parsed by Hydra's grammar."""

    text: str
    key: str
    """The config key or group, without prefix and package."""
    prefix: str
    """One of "", "+", "++", "~"."""
    package: str | None
    values: tuple[Any, ...]
    """Expanded values with their own types: one if not swept, at most MOST_RUNS + 1."""
    texts: tuple[str, ...]
    """The same values in the grammar's notation."""
    swept: bool


def check(words: Sequence[ParsedOverride]) -> None:
    """Raise ConfigError for the first invalid override, or for a sweep of too many runs."""
    first: dict[str, ParsedOverride] = {}
    for word in words:
        _check_word(word)
        earlier = first.setdefault(word.key, word)
        if earlier is not word:
            text, first_text = without_secret(word.text), without_secret(earlier.text)
            raise ConfigError(f"{text}: {word.key} is set twice, first by {first_text}")
    refuse_too_many(words)


def refuse_too_many(words: Sequence[ParsedOverride]) -> None:
    """Raise ConfigError if the axes among `words` make a sweep of too many runs."""
    runs = math.prod(len(word.values) for word in words if word.swept)
    if runs > MOST_RUNS:
        raise ConfigError(f"a sweep must have at most {MOST_RUNS} runs, got {runs} or more")


def check_settings(hydra: Mapping[str, Any]) -> None:
    """Raise ConfigError for settings that make Hydra call code, set variables or search folders
    before a run: a shared conf/ must not run code.
    """
    quiet = {"version": 1, "root": None, "disable_existing_loggers": False}
    required = {
        "callbacks": {}, "env": {}, "hydra_logging": quiet, "job_logging": quiet, "searchpath": [],
    }  # fmt: skip
    for name, value in required.items():
        if hydra[name] != value:
            raise ConfigError(not_yours(name))
    if hydra["job"]["env_set"]:
        raise ConfigError(not_yours("job.env_set"))


def not_yours(name: str) -> str:
    return (
        f"hydra.{name}: a file in conf/ or sweeps/ may change hydra.launcher and hydra.sweeper "
        "only, since other keys can name code to run"
    )


def refuse_resolvers(values: Any, key: str = "") -> None:
    """Raise ConfigError if a value calls a resolver, directly or through a nested interpolation.

    `key`: dotted key of `values`.
    """
    if isinstance(values, dict):
        for name, value in values.items():
            refuse_resolvers(value, f"{key}.{name}" if key else str(name))
        return
    match = RESOLVER.search(json.dumps(values, default=str))
    if match:
        rule = "a value may refer to other keys, but not to a resolver"
        raise ConfigError(f"{key}: {rule}, got {match[0]}...}}")


@functools.cache
def known_keys() -> dict[str, Any]:
    """Return every dotted key that an option or an override may set -> its type; for a group, its
    class.
    """
    parts = typing.get_type_hints(RunConfig)
    groups = {name: parts[name] for name in keys.groups()}
    return {**groups, **{name: key.type for name, key in keys.keys().items()}}


def set_by_option(name: str) -> str | None:
    """Return the reason why only an option may set the key `name`; None if overrides may too."""
    key = keys.keys().get(name)
    if key is None or not key.by_option:
        return None
    options = ", ".join(search_path.options(key.group))
    return (
        f"{name} is set only by the option, so that results are labelled with what was trained; "
        f"choose {key.group}=NAME, one of {options} or of your own conf/{key.group}/NAME.yaml"
    )


def no_such_key(key: str, text: str = "") -> str:
    """Return the message about a key that does not exist."""
    return f"{text or key}: no such key; {_nearest_key(key)}"


def without_secret(text: str) -> str:
    """Return an override for use in a message, without its value if that may be a secret."""
    return f"{text.partition('=')[0]}=..." if SECRET.search(text) else text


def must_be(key: str, value: str) -> str:
    """Return the message about a value of the wrong type."""
    rule = f"{key} must be {_kind(known_keys().get(key))}, got {value}"
    match = re.fullmatch(r"'(-?\d+)\.0'", value)  # 1e9 is a float to YAML and to Hydra
    return f"{rule}; write {match[1]}" if match else rule


def not_a_mapping(key: str, value: Any, text: str) -> str | None:
    """Return the message if `key` needs a mapping and `value`, written as `text`, is not one.

    OmegaConf's own message would name only its classes.
    """
    is_open = typing.get_origin(known_keys().get(key)) is dict
    if not is_open or isinstance(value, Mapping) or "${" in text:
        return None
    return must_be(key, "..." if SECRET.search(text) else text)


def _check_word(word: ParsedOverride) -> None:
    if word.key.startswith("hydra"):
        _check_hydra(word)
    elif word.key == "sweeps":
        _check_sweeps(word)
    else:
        _check_ours(word)
    if word.swept:
        _check_values(word)


def _check_values(word: ParsedOverride) -> None:
    if not word.values:
        raise ConfigError(f"{word.text}: the sweep is empty; it must have at least one value")
    texts = [repr(value) for value in word.values]
    repeated = next((value for value in texts if texts.count(value) > 1), None)
    if repeated is not None:
        raise ConfigError(f"{word.text}: the sweep must not repeat a value, got {repeated} twice")


def _check_hydra(word: ParsedOverride) -> None:
    if word.key.startswith("hydra.sweeper.params"):
        raise ConfigError(f"{word.text}: write the axis as KEY=a,b, or put it in a sweep file")
    allowed = word.key == LAUNCHER or word.key.startswith(OF_LAUNCHER)
    if not allowed or "_target_" in word.text:
        rule = f"of hydra's own keys only {LAUNCHER} and {OF_LAUNCHER}* may be set"
        raise ConfigError(f"{word.text}: {rule}")
    if word.swept:
        raise ConfigError(f"{word.text}: must be one value, since it applies to the whole sweep")


def _check_sweeps(word: ParsedOverride) -> None:
    if word.prefix != "+":
        raise ConfigError(f"{word.text}: write +sweeps=NAME to name a sweep file")
    if word.swept:
        raise ConfigError(
            f"{word.text}: must name one sweep file, since axes of others would be lost"
        )
    (name,) = word.values
    if not (isinstance(name, str) and FILE_NAME.fullmatch(name) and search_path.sweep_file(name)):
        ranges.one_of(
            "sweeps", typed_value(name), [n for n in search_path.sweep_names() if n != name]
        )


def _check_ours(word: ParsedOverride) -> None:
    if word.key.split(".")[0] in ("level", "levels"):
        raise ConfigError(
            f"{word.text}: the levels that eval/LEVEL/reward uses are those of conf/difficulty; "
            "choose the run's own with difficulty=NAME"
        )
    if word.package is not None:
        raise ConfigError(f"{word.text}: a group has one place only; write {word.key}=NAME")
    if word.key not in known_keys() and not keys.is_in_open_key(word.key):
        raise ConfigError(no_such_key(word.key, without_secret(word.text)))
    is_label = set_by_option(word.key)
    if is_label is not None:
        raise ConfigError(f"{without_secret(word.text)}: {is_label}")
    if word.prefix == "~" and "." in word.key and word.key in known_keys():
        raise ConfigError(
            f"{word.text}: only a whole group can be left out, got a key of "
            f"{word.key.split('.')[0]}; set it, as in {word.key}=VALUE"
        )
    if word.prefix == "+":
        is_key = word.key in known_keys()
        why = "has a value already; drop the '+'" if is_key else "needs no '+'; drop it"
        raise ConfigError(f"{word.text}: {word.key} {why}")
    if word.key in keys.groups() and word.prefix != "~":
        for value in word.values:
            name = value if isinstance(value, str) else typed_value(value)
            ranges.one_of(word.key, name, search_path.options(word.key))
    for value, text in zip(word.values, word.texts, strict=True) if word.prefix != "~" else ():
        problem = not_a_mapping(word.key, value, text)
        if problem:
            raise ConfigError(problem)


def _nearest_key(key: str) -> str:
    settable = [name for name in known_keys() if set_by_option(name) is None]
    best = max(settable, key=lambda candidate: _likeness(key, candidate))
    hint = f"nearest: {best}; " if _likeness(key, best) > 0.5 else ""
    group = key.split(".")[0]
    group_keys = [k.removeprefix(f"{group}.") for k in settable if k.startswith(f"{group}.")]
    if group_keys:
        return f"{hint}allowed in {group}: {', '.join(group_keys)}"
    return f"{hint}allowed: seed, {', '.join(keys.groups())} and the keys inside them"


def _likeness(key: str, candidate: str) -> float:
    """Return the similarity of two keys, at most 1. Equal last parts give at least 0.95."""
    full_ratio = difflib.SequenceMatcher(None, key, candidate).ratio()
    last_ratio = difflib.SequenceMatcher(None, key.split(".")[-1], candidate.split(".")[-1]).ratio()
    return max(full_ratio, 0.95 * last_ratio)


def _kind(kind: Any) -> str:
    """Describe a field's type in words, as in "a whole number"."""
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if kind in names:
        return names[kind]
    if typing.get_origin(kind) is dict:
        return "a mapping of keys to values"
    if typing.get_origin(kind) is list:
        return "a list of names, as in [a,b]"
    choices = [_kind(part) for part in typing.get_args(kind) if part is not type(None)]
    return " or ".join([*choices, "null"]) if choices else "a mapping of its keys"
