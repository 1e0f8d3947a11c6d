"""Records for the inner loop: dataclasses that mypy treats as frozen, but with a fast __init__.

`dataclass(frozen=True)` sets each field by object.__setattr__, which makes creating a record of
twelve fields five times as slow. A turn of a conversation creates ten records, so only mypy checks
that they are not changed. Classes without hundreds of thousands of instances stay
`dataclass(frozen=True)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Return `cls` as a frozen dataclass with slots whose __init__ sets fields directly.

    Comparing, hashing, copying and inheriting work as for frozen dataclasses. Assigning to a field
    does not raise, but mypy reports it.
    """
    frozen = dataclass(frozen=True, slots=True)(cls)
    changeable: Any = frozen
    unfrozen: Any = make_dataclass(
        cls.__name__,
        [
            (f.name, f.type, field(default=f.default, default_factory=f.default_factory))
            for f in fields(changeable)
        ],
    )
    changeable.__init__ = unfrozen.__init__
    del changeable.__setattr__, changeable.__delattr__
    return frozen


def replace_field(old: T, name: str, value: object) -> T:
    """Return `old` with another value of one field; faster than `dataclasses.replace`.

    Only for classes whose fields are all arguments of __init__.
    """
    kind: Any = type(old)
    index, values_of = _layout(kind, name)
    values = list(values_of(old))
    values[index] = value
    replaced: T = kind(*values)
    return replaced


@cache
def _layout(cls: Any, name: str) -> tuple[int, Callable[[Any], tuple[Any, ...]]]:
    """Return the index of a field in its class, and a function that gets all fields' values."""
    names = [field.name for field in fields(cls)]
    return names.index(name), attrgetter(*names)
