"""Config keys and their values for a shell that completes KEY=VALUE.

A shell puts a blank behind the only word that is offered. So what goes on behind it, a group's keys
or a key's values, is offered with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.config import keys
from harness.config.keys import Key
from harness.utils import installation

Offer = tuple[str, str]
SWEEPS = "+sweeps"
TRUTHS = ("true", "false")


def offers(typed: str) -> Iterator[Offer]:
    """Return the words KEY=VALUE that begin with what was typed."""
    key, equals, value = typed.partition("=")
    if equals:
        yield from values(key, value)
        return
    matches = [match for match in _names(typed) if match.startswith(typed)]
    if len(matches) > 1:
        yield from ((match, "") for match in matches)
    elif matches and matches[0].endswith("."):
        yield from offers(matches[0])
    elif matches:
        yield matches[0], ""
        yield from values(matches[0].removesuffix("="), "")


def _names(typed: str) -> list[str]:
    """Groups and keys with what follows them; keys of a group once its dot is there."""
    prefixes = {f"{key.group}." for key in keys.keys().values() if key.group}
    if "." in typed:
        return [f"{name}=" for name, key in keys.keys().items() if not key.by_option]
    ungrouped = [f"{name}=" for name, key in keys.keys().items() if not key.group]
    group_choices = [f"{name}=" for name in groups()]
    return sorted({*prefixes, *ungrouped, *group_choices, f"{SWEEPS}="} - {"schema="})


def groups() -> list[str]:
    """Return the config groups that have options."""
    return list(keys.groups())


def values(name: str, typed: str) -> Iterator[Offer]:
    """Return words NAME=VALUE that begin with what was typed. After a comma, complete one more
    value of the axis.
    """
    earlier, comma, last = typed.rpartition(",")
    chosen = earlier.split(",")
    for value in _values_of_name(name.lstrip("+")):
        if value.startswith(last) and value not in chosen:
            yield f"{name}={earlier}{comma}{value}", ""


def _values_of_name(name: str) -> list[str]:
    if name == SWEEPS.lstrip("+"):
        return files("sweeps")
    if name in groups():
        return files(f"conf/{name}")
    key = keys.keys().get(name)
    return [] if key is None else _values_of_key(key)


def _values_of_key(key: Key) -> list[str]:
    """Return all values of a key that has few, else its default."""
    choices = getattr(key.rule, "values", None)
    if choices:
        return [str(value) for value in choices]
    if key.type is bool:
        return list(TRUTHS)
    return [str(key.default)] if isinstance(key.default, int | float | str) else []


def files(folder: str) -> list[str]:
    """Return the names of the YAML files of harness and of the current folder."""
    roots = (Path(), installation.shipped())
    return sorted({file.stem for root in roots for file in (root / folder).glob("*.yaml")})
