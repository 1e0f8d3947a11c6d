"""Rules for config fields, declared as in `Annotated[int, Between(1, 9)]`.

A config class calls `check` when it is built; `keys` and `reference` read the rules. An error names
the dotted key, the rule and the value.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlsplit

from harness.errors import ConfigError

LIKE = 0.6
"""Minimal similarity, by difflib, for a name to be suggested. Typing errors such as `gian` for gain
have more, other words such as `fewer` for earlier less."""


class Rule(ABC):
    """A restriction on the values of a key. `str()` describes it in a few words."""

    @abstractmethod
    def check(self, key: str, value: Any) -> None:
        """Raise ConfigError unless `value` is allowed for the dotted `key`."""


@dataclass(frozen=True)
class Between(Rule):
    """A number from `low` to `high`, both included."""

    low: float
    high: float
    multiple_of: int = 1

    def check(self, key: str, value: float) -> None:
        in_range(key, value, self.low, self.high)
        if self.multiple_of > 1 and value % self.multiple_of:
            raise ConfigError(f"{key} must be a multiple of {self.multiple_of}, got {value}")

    def __str__(self) -> str:
        steps = f", in steps of {self.multiple_of}" if self.multiple_of > 1 else ""
        return f"{_format_value(self.low)} to {_format_value(self.high)}{steps}"


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few values."""

    values: tuple[Any, ...]
    plug_ins: str = ""
    """Kind of extensions whose names are allowed too; looked up only for other values."""

    def check(self, key: str, value: Any) -> None:
        if isinstance(value, str) and self.plug_ins and value not in self.values:
            from harness.utils import extensions  # takes 20 ms to import

            one_of(key, value, [*self.values, *extensions.names(self.plug_ins)])
        elif isinstance(value, str):
            one_of(key, value, self.values)
        elif value not in self.values:
            raise ConfigError(f"{key} must be {self}, got {value}")

    def __str__(self) -> str:
        plug_in = ["the name of a plug-in"] if self.plug_ins else []
        return either([*map(str, self.values), *plug_in])


@dataclass(frozen=True)
class SomeOf(Rule):
    """A list of names, each one of `names`."""

    names: tuple[str, ...]
    may_be_empty: bool = False

    def check(self, key: str, value: list[str]) -> None:
        if value or not self.may_be_empty:
            all_of(key, value, self.names)

    def __str__(self) -> str:
        return f"{'any' if self.may_be_empty else 'at least one'} of {', '.join(self.names)}"


@dataclass(frozen=True)
class Address(Rule):
    """An http(s) address without a user, a password or a query."""

    advice: str = ""
    """Added to error messages: where a secret belongs instead."""
    may_be_empty: bool = False
    may_be_several: bool = False

    def check(self, key: str, value: Any) -> None:
        urls = value if self.may_be_several and isinstance(value, list) else [value]
        if not all(isinstance(url, str) for url in urls):
            raise ConfigError(f"{key} must be {self}, got {value!r}")
        if len({url.rstrip("/") for url in urls}) < max(1, len(urls)):
            raise ConfigError(f"{key} must name one or more addresses, each once, got {value}")
        for url in [] if value == "" and self.may_be_empty else urls:
            address(key, url, self.advice)

    def __str__(self) -> str:
        several = ", or a list of such" if self.may_be_several else ""
        return f"http(s)://HOST[:PORT]/PATH{' or empty' if self.may_be_empty else ''}{several}"


@dataclass(frozen=True)
class Unit:
    """The unit of a number, as a word."""

    name: str


@dataclass(frozen=True)
class ByOption:
    """Only the option that GROUP=NAME chooses may set the key, no override and no sweep file."""


@dataclass(frozen=True)
class Location:
    """The value is a location: a path, an address, the name of a variable. It is omitted from what
    is published.
    """


@dataclass(frozen=True)
class Only:
    """The key has an effect only if the key `selector` has one of `values`."""

    selector: str
    values: tuple[Any, ...]

    def is_met(self, value: Any) -> bool:
        return value in self.values

    def refusal(self, value: Any) -> str:
        """Say why the key has no effect with this value of the selector."""
        return f"has no effect with {self.selector}={_format_number(value)}; it belongs to {self}"

    def __str__(self) -> str:
        return f"{self.selector}={either(map(_format_number, self.values))}"


@dataclass(frozen=True)
class Unless:
    """The key has no effect if the key `selector` has one of `values`, for the reason `why`."""

    selector: str
    values: tuple[Any, ...]
    why: str

    def is_met(self, value: Any) -> bool:
        return value not in self.values

    def refusal(self, value: Any) -> str:
        """Say why the key has no effect with this value of the selector."""
        return f"has no effect with {self.selector}={_format_number(value)}, since {self.why}"

    def __str__(self) -> str:
        return f"{self.selector} other than {either(map(_format_number, self.values))}"


@dataclass(frozen=True)
class OfPlugIns:
    """The key has an effect only if the value of the key `selector` is the name of a plug-in."""

    selector: str
    ours: tuple[Any, ...]

    def is_met(self, value: Any) -> bool:
        return value not in self.ours

    def refusal(self, value: Any) -> str:
        """Say why the key has no effect with this value of the selector."""
        return f"has no effect with {self.selector}={_format_number(value)}; it belongs to {self}"

    def __str__(self) -> str:
        return f"a {self.selector} from a plug-in"


def _format_number(value: Any) -> str:
    return "null" if value is None else str(value)


Condition = Only | Unless | OfPlugIns


def either(names: Iterable[str]) -> str:
    """Return `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def in_words(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Return each condition as text, with those that exclude values of one key as one list."""
    excluded: dict[str, list[Any]] = {}
    for condition in conditions:
        if isinstance(condition, Unless):
            excluded.setdefault(condition.selector, []).extend(condition.values)
    merged = (
        replace(condition, values=tuple(excluded[condition.selector]))
        if isinstance(condition, Unless)
        else condition
        for condition in conditions
    )
    return tuple(dict.fromkeys(map(str, merged)))


def check(prefix: str, part: Any) -> None:
    """Raise ConfigError for the first value of a config class that breaks its field's rule.

    `prefix`: dotted key of the class. Null is not checked, since the field's type decides whether
    it is allowed, except for fields of type Any.
    """
    for name, rule in _rules(part.__class__):
        value = getattr(part, name)
        if value is not None or annotated_parts(part.__class__)[name][0] is Any:
            rule.check(f"{prefix}.{name}" if prefix else name, value)


@functools.cache
def _rules(part: Any) -> tuple[tuple[str, Rule], ...]:
    """Return the names of a config class's fields with a rule, and the rules, in order."""
    return tuple(
        (field.name, note)
        for field in dataclasses.fields(part)
        for note in annotated_parts(part)[field.name][1:]
        if isinstance(note, Rule)
    )


@functools.cache
def annotated_parts(part: Any) -> dict[str, tuple[Any, ...]]:
    """Return field name -> its type, followed by the other parts of its `Annotated`."""
    hints = typing.get_type_hints(part, include_extras=True)
    return {
        name: typing.get_args(hint) if typing.get_origin(hint) is Annotated else (hint,)
        for name, hint in hints.items()
    }


def in_range(key: str, value: float, low: float, high: float) -> None:
    """Raise ConfigError unless `low <= value <= high`."""
    if not (low <= value <= high and abs(value) < math.inf):  # isfinite fails for a huge int
        bounds = f"{_format_value(low)} and {_format_value(high)}"
        raise ConfigError(f"{key} must lie between {bounds}, got {_format_value(value)}")


def _format_value(value: float) -> str:
    """Return a number in few digits, all of them where fewer would be another number."""
    short = str(value) if isinstance(value, int) else f"{value:g}"
    return short if isinstance(value, int) or float(short) == value else str(value)


def one_of(key: str, value: str, allowed: Iterable[str]) -> None:
    """Raise ConfigError unless `value` is one of `allowed`, suggesting the most similar name."""
    names = list(allowed)
    if value not in names:
        close = difflib.get_close_matches(value, names, n=1, cutoff=LIKE)
        hint = f"; nearest: {close[0]}" if close else ""
        raise ConfigError(f"{key} must be one of {', '.join(names)}, got {value!r}{hint}")


def all_of(key: str, values: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ConfigError unless `values` is not empty and each is one of `allowed`."""
    names = list(values)
    if not names:
        raise ConfigError(f"{key} must name at least one of {', '.join(allowed)}, got []")
    for name in names:
        one_of(key, name, allowed)


def address(key: str, url: str, advice: str = "") -> None:
    """Raise ConfigError unless `url` is an http(s) address without a secret.

    Secrets are refused since addresses are written to config.yaml and to messages. `advice`: where
    a secret belongs instead.
    """
    if "@" in url or "?" in url:
        rule = "must not hold a user or a password, nor a query, got one"
        raise ConfigError(f"{key} {rule}{advice and f'; {advice}'}")
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as in a lookup; UnicodeError is a ValueError
    except ValueError:
        is_whole = False
    if not is_whole or " " in url or not (url.isascii() and url.isprintable()):
        raise ConfigError(f"{key} must be http(s)://HOST[:PORT]/PATH, got {url!r}")
