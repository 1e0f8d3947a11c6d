"""Range checks of config values; each message names the dotted key, the rule and the value."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from harness.errors import ConfigError


def in_range(key: str, value: float, low: float, high: float) -> None:
    """Raises ConfigError unless `low <= value <= high`."""
    if not (math.isfinite(value) and low <= value <= high):
        raise ConfigError(
            f"{key} must lie between {_shown(low)} and {_shown(high)}, got {_shown(value)}"
        )


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def one_of(key: str, value: str, allowed: Iterable[str]) -> None:
    """Raises ConfigError, naming the nearest, unless `value` is one of `allowed`."""
    names = list(allowed)
    if value not in names:
        close = difflib.get_close_matches(value, names, n=1, cutoff=0.3)
        hint = f"; nearest: {close[0]}" if close else ""
        raise ConfigError(f"{key} must be one of {', '.join(names)}, got {value!r}{hint}")


def all_of(key: str, values: Iterable[str], allowed: Iterable[str]) -> None:
    """Raises ConfigError unless `values` is not empty and each is one of `allowed`."""
    given = list(values)
    if not given:
        raise ConfigError(f"{key} must name at least one of {', '.join(allowed)}, got []")
    for value in given:
        one_of(key, value, allowed)


def unheeded(part: str, given: Any, keys: Iterable[str], whose: str) -> None:
    """Raises ConfigError for a key of `whose` alone that is set in a `given` of another kind."""
    for key in keys:
        value, own = getattr(given, key), getattr(type(given), key)
        if value != own:
            raise ConfigError(
                f"{part}.{key} is of {whose} alone and must be {own!r} with {part}.kind "
                f"{given.kind}, got {value!r}"
            )


def address(key: str, url: str, advice: str = "") -> None:
    """Raises ConfigError unless `url` is one of http that nothing secret is in: it is written into
    config.yaml and said in messages. `advice`: where a secret belongs.
    """
    if "@" in url or "?" in url:
        rule = "must not hold a user or a password, nor a query, got one"
        raise ConfigError(f"{key} {rule}{advice and f'; {advice}'}")
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as it is looked up; UnicodeError is a ValueError
    except ValueError:
        whole = False
    if not whole or " " in url or not (url.isascii() and url.isprintable()):
        raise ConfigError(f"{key} must be http(s)://HOST[:PORT]/PATH, got {url!r}")
