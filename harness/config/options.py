"""The options of a plug-in: a frozen dataclass whose fields are config keys with their ranges.

    @dataclass(frozen=True)
    class Patience(Reward):
        weight: Annotated[float, Between(0, 1)] = 0.5

Types and ranges are declared as in harness.config, and checked whenever an instance is made. An
option that has an effect only with certain values of another option declares that with `Only` or
`Unless`, whose selector is the other's dotted key. Setting it without effect raises ConfigError.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar, Union

from harness.config import keys, ranges
from harness.errors import ConfigError
from harness.utils import extensions, shape

OptionsClass = TypeVar("OptionsClass", bound="Options")


@dataclass(frozen=True)
class Options:
    """Base class for the options of a plug-in.

    Raises ConfigError, with the dotted key, for a value of another type or out of its range.
    """

    def __post_init__(self) -> None:
        values = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}
        problem = shape.problem(self.__class__, values, self.key())
        if problem:
            raise ConfigError(problem)
        ranges.check(self.key(), self)

    @classmethod
    def key(cls) -> str:
        """Return the dotted key of the options, such as `reward.options`."""
        raise NotImplementedError


def build(cls: type[OptionsClass], values: Any) -> OptionsClass:
    """Return an instance with these values, and defaults for missing ones.

    Raises ConfigError if `values` is not a mapping, for an unknown key, for a key that has no
    effect with the others, and as the class itself does.
    """
    key = cls.key()
    if not isinstance(values, Mapping):
        raise ConfigError(f"{key} must be a mapping of keys to values, got {values!r}")
    names = [part.name for part in dataclasses.fields(cls)]
    for name in values:
        if not names:
            raise ConfigError(f"{key} must be empty, as {cls.__name__} has none, got {name!r}")
        ranges.one_of(f"a key of {key}", str(name), names)
    built = cls(**values)
    _refuse_unused(built)
    return built


def canonical(cls: Any, values: Any) -> dict[str, Any]:
    """Return all options as plain values, so that equal options give equal values.

    Adds defaults, and converts int to float where the class declares float. Raises ConfigError as
    `build` does.
    """
    built, notes = build(cls, values), ranges.annotated_parts(cls)
    return {
        part.name: _int_to_float(getattr(built, part.name), notes[part.name][0])
        for part in dataclasses.fields(cls)
    }


def plug_in(kind: str, name: str, base: type) -> Any:
    """Return the class that a plug-in adds under `name`.

    Raises KeyError if there is none, and ConfigError if it cannot be imported, is not a frozen
    dataclass derived from `base`, lacks a method, has a field without a default, or has one that
    depends on a key that is not one of its own options.
    """
    item = extensions.load(kind, name)
    where = f"{extensions.group(kind)}: {name}"
    if not _is_frozen_dataclass(item, base):
        rule = "must be a frozen dataclass and a subclass of"
        raise ConfigError(f"{where} {rule} {base.__module__}.{base.__name__}, got {item!r}")
    if inspect.isabstract(item):
        missing = ", ".join(sorted(item.__abstractmethods__))
        raise ConfigError(f"{where} must define {missing}, got {item!r} without")
    for part in dataclasses.fields(item):
        if part.init and part.default is part.default_factory is dataclasses.MISSING:
            rule = f"must have a default for each option, got none for {part.name}"
            raise ConfigError(f"{where} {rule} of {item!r}")
    try:
        ranges.annotated_parts(item)
    except Exception as error:  # evaluating an annotation may raise anything
        rule = f"must have annotations that can be evaluated, got {type(error).__name__}: {error}"
        raise ConfigError(f"{where} {rule} in {item!r}") from error
    for key in keys.own_keys(item, item.key()):
        for condition in key.conditions:
            if condition.selector not in {
                f"{item.key()}.{n}" for n in ranges.annotated_parts(item)
            }:
                rule = "must make an option depend only on its own options"
                got = f"{condition.selector} for {key.field} of {item!r}"
                raise ConfigError(f"{where} {rule}, got {got}")
    return item


def _is_frozen_dataclass(item: Any, base: type) -> bool:
    """Whether `item` derives from `base` and is itself decorated as a frozen dataclass.

    An undecorated subclass would have only the fields of its base.
    """
    if not (isinstance(item, type) and issubclass(item, base)):
        return False
    parameters = vars(item).get("__dataclass_params__")
    return parameters is not None and bool(parameters.frozen)


def _refuse_unused(built: Options) -> None:
    """Raise ConfigError for a non-default value that has no effect with the other options."""
    cls: Any = type(built)
    for key in keys.own_keys(cls, cls.key()):
        value = getattr(built, key.field)
        for condition in () if value == key.default else key.conditions:
            other = getattr(built, condition.selector.rpartition(".")[2])
            if not condition.is_met(other):
                raise ConfigError(f"{key.name}: {condition.refusal(other)}, got {value}")


def _int_to_float(value: Any, kind: Any) -> Any:
    """Convert an int to float if `kind` declares float and not int; also inside a list."""
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (Union, UnionType) else (kind,)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if float in kinds and int not in kinds else value
    inner = next((part for part in kinds if typing.get_origin(part) in (list, Sequence)), None)
    if isinstance(value, list) and inner is not None:
        return [_int_to_float(item, typing.get_args(inner)[0]) for item in value]
    return value
