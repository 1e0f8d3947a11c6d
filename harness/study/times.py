"""`KEY=*3` among an arm's words: three times what it has without it, whatever the rung says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from harness import keys, launch
from harness.errors import ConfigError
from harness.grammar import parse

TIMES = re.compile(r"([a-z_.]+)=\*(.*)")


def plain(words: Sequence[str]) -> list[str]:
    """The words that are no factors."""
    return [word for word in words if not TIMES.fullmatch(word)]


def resolved(words: Sequence[str]) -> list[str]:
    """The words with a number in the place of each factor. Raises ConfigError.

    A factor stands for its key's word too, so that `policy=tiny algorithm.learning_rate=2e-3`
    moves the arms that are about the rate along with the others.
    """
    factors = {found[1]: found[2] for word in words if (found := TIMES.fullmatch(word))}
    base = plain(words)
    if not factors:
        return base
    keys.check(parse([f"{key}=1" for key in factors]))
    config = launch.point(base).config
    kept = [word for word in base if word.split("=")[0] not in factors]
    return kept + [f"{key}={_product(config, key, times)!r}" for key, times in factors.items()]


def _product(config: Any, key: str, times: str) -> int | float:
    value = config
    for name in key.split("."):
        value = getattr(value, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{key}=*{times}: *N is of a number alone, and {key} is {value!r}")
    try:
        product = Fraction(times) * Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        rule = "behind * must stand a number, as in *3 or *1/3"
        raise ConfigError(f"{key}=*{times}: {rule}, got {times!r}") from error
    return int(product) if isinstance(value, int) and product.denominator == 1 else float(product)
