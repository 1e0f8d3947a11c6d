"""Checks that values read from a file have the keys and types of a dataclass."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

LARGEST_INT = 2**63 - 1
"""Larger whole numbers are refused: they are no counts, and huge ones do not fit in a float."""

NAMES = {
    str: "text",
    int: "a whole number below 2^63",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
    list: "a list of",
    Sequence: "a list of",
}


def problem(cls: type, values: Any, key: str = "") -> str | None:
    """Describe the first key of dataclass `cls` that is missing or of another type, else None.

    `key`: dotted key of `values`. Keys that `cls` does not have are ignored.
    """
    if not isinstance(values, dict):
        return f"{key or 'it'} must be a mapping of names to values, got {reprlib.repr(values)}"
    kinds = _kinds(cls)
    for field in dataclasses.fields(cls):
        name, kind = dotted(key, field.name), kinds[field.name]
        if field.name not in values:
            return f"missing key {name}"
        if not fits(values[field.name], kind):
            shown = reprlib.repr(values[field.name])
            return f"{name} must be {described(kind)}, got {shown}"
    return None


@cache
def _kinds(cls: type) -> dict[str, Any]:
    """Return the field types; cached, since a sweep reads the status of all runs every second."""
    return get_type_hints(cls)


def dotted(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def fits(value: Any, kind: Any) -> bool:
    """Whether `value` has the type `kind`. An int counts as a float, a bool does not count as an
    int, and a dataclass is a dict.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin in (list, Sequence):
        return isinstance(value, list) and _all_fit(value, inner[0])
    if origin in (Mapping, dict):
        return isinstance(value, dict) and _all_fit(value.values(), inner[1])
    if dataclasses.is_dataclass(kind):
        return isinstance(value, dict)
    if isinstance(value, int) and kind in (int, float):
        return not isinstance(value, bool) and abs(value) <= LARGEST_INT
    return kind is Any or isinstance(value, kind)


def described(kind: Any) -> str:
    """Describe a type: `a number or null` for float | None."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(described(one) for one in inner)
    if origin in (list, Sequence):
        return f"{NAMES[origin]} {described(inner[0])}"
    return NAMES.get(kind, "a mapping of names to values")


def _all_fit(values: Iterable[Any], kind: Any) -> bool:
    return all(fits(value, kind) for value in values)
