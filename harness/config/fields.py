"""The keys of a config class, read from its fields: type, default, rule, unit and conditions."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.config.ranges import ByOption, Condition, Only, Rule, Unit, Unless


@dataclass(frozen=True)
class Key:
    """One key that a config can hold, as its field declares it."""

    name: str
    """Dotted, as a word on the command line writes it."""
    type: Any
    """The field's type without its annotations."""
    default: Any
    rule: Rule | None = None
    unit: str = ""
    conditions: tuple[Condition, ...] = ()
    """All of them must hold, or the key does nothing."""
    by_option: bool = False
    """Whether an option file alone may set it."""

    @property
    def group(self) -> str:
        """`trainer` of trainer.steps; empty for a key of the run itself."""
        return self.name.rpartition(".")[0]

    @property
    def field(self) -> str:
        """`steps` of trainer.steps."""
        return self.name.rpartition(".")[2]


@functools.cache
def own_keys(part: Any, prefix: str) -> tuple[Key, ...]:
    """The keys of one config class that are values, not classes of their own."""
    hints = typing.get_type_hints(part, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(part)}
    return tuple(
        _key(f"{prefix}.{name}" if prefix else name, hints[name], field)
        for name, field in fields.items()
        if not dataclasses.is_dataclass(hints[name])
    )


def parts(config: type) -> dict[str, Any]:
    """The config classes that are fields of a config class."""
    hints = typing.get_type_hints(config)
    return {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}


def all_keys(config: type, prefix: str = "") -> Iterator[Key]:
    """The keys of a config class and of the classes inside it."""
    yield from own_keys(config, prefix)
    for name, part in parts(config).items():
        yield from all_keys(part, f"{prefix}.{name}" if prefix else name)


def check(prefix: str, part: Any) -> None:
    """Raise ConfigError for the first value that breaks the rule of its field; null always may be
    where the type lets it.
    """
    for key in own_keys(part.__class__, prefix):
        value = getattr(part, key.field)
        if key.rule is not None and value is not None:
            key.rule.check(key.name, value)


def value_at(config: Any, name: str) -> Any:
    """The value of a dotted key."""
    return functools.reduce(getattr, name.split("."), config)


def _key(name: str, hint: Any, field: dataclasses.Field[Any]) -> Key:
    is_annotated = typing.get_origin(hint) is typing.Annotated
    bare, *notes = typing.get_args(hint) if is_annotated else (hint,)
    default = field.default_factory() if callable(field.default_factory) else field.default
    return Key(
        name,
        bare,
        default,
        next((note for note in notes if isinstance(note, Rule)), None),
        next((note.name for note in notes if isinstance(note, Unit)), ""),
        tuple(note for note in notes if isinstance(note, Only | Unless)),
        any(isinstance(note, ByOption) for note in notes),
    )
