"""The options of a plug-in: a frozen dataclass whose fields are config keys with their ranges.

    @dataclass(frozen=True)
    class Patience(Reward):
        weight: Annotated[float, Between(0, 1)] = 0.5

Types and ranges are declared as in harness.config, and checked whenever an instance is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.config import ranges
from harness.errors import ConfigError
from harness.utils import extensions, shape

OptionsClass = TypeVar("OptionsClass", bound="Options")


@dataclass(frozen=True)
class Options:
    """Values of keys that a plug-in declares.

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
        """The dotted key that holds the options, as `reward.options`."""
        raise NotImplementedError


def build(cls: type[OptionsClass], values: Any) -> OptionsClass:
    """An instance with these values, and defaults for what they lack.

    Raises ConfigError for what is no mapping, for an unknown key with the nearest one, and as the
    class itself does.
    """
    key = cls.key()
    if not isinstance(values, Mapping):
        raise ConfigError(f"{key} must be a mapping of its keys to values, got {values!r}")
    names = [part.name for part in dataclasses.fields(cls)]
    for name in values:
        if not names:
            raise ConfigError(f"{key} must be empty, as {cls.__name__} has none, got {name!r}")
        ranges.one_of(f"a key of {key}", str(name), names)
    return cls(**values)


def plug_in(kind: str, name: str, base: type) -> Any:
    """The class that a plug-in adds under `name`.

    Raises ConfigError if it cannot be imported or is no subclass of `base`, and KeyError if there
    is none.
    """
    item = extensions.load(kind, name)
    if not (isinstance(item, type) and issubclass(item, base) and dataclasses.is_dataclass(item)):
        raise ConfigError(
            f"{extensions.group(kind)}: {name} must be a frozen dataclass and a subclass of "
            f"{base.__module__}.{base.__name__}, got {item!r}"
        )
    return item
