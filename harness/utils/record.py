"""Records of the inner loop: dataclasses that mypy takes for frozen, and that are made quickly.

`dataclass(frozen=True)` sets each field through a check, which makes a record of twelve fields five
times as dear as one without. A turn of a conversation makes ten records, so theirs are checked by
mypy alone. Whatever is not made by the hundred thousand stays `dataclass(frozen=True)`.
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
    """Return `cls` as a frozen dataclass with slots whose fields are set without a check.

    It is compared, hashed, copied and inherited from as any frozen dataclass, by frozen dataclasses
    and records alone. Assigning to a field raises nothing; mypy refuses it.
    """
    made = dataclass(frozen=True, slots=True)(cls)
    changeable: Any = made
    alike: Any = make_dataclass(
        cls.__name__,
        [
            (f.name, f.type, field(default=f.default, default_factory=f.default_factory))
            for f in fields(changeable)
        ],
    )
    changeable.__init__ = alike.__init__
    del changeable.__setattr__, changeable.__delattr__
    return made


def changed(old: T, name: str, value: object) -> T:
    """Return `old` with another value of one field; quicker than `dataclasses.replace`.

    Only for classes whose fields are all given when they are made.
    """
    kind: Any = type(old)
    place, values_of = _layout(kind, name)
    values = list(values_of(old))
    values[place] = value
    made: T = kind(*values)
    return made


@cache
def _layout(cls: Any, name: str) -> tuple[int, Callable[[Any], tuple[Any, ...]]]:
    """Return the place of a field among those of its class, and what reads all of them."""
    names = [field.name for field in fields(cls)]
    return names.index(name), attrgetter(*names)
