"""Resolves factors among an arm's overrides: `KEY=*3` is three times the value without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from harness.compose import overrides, planner
from harness.compose.grammar import parse
from harness.config.run import RunConfig
from harness.errors import ConfigError

Compose = Callable[[tuple[str, ...]], RunConfig]
TIMES = re.compile(r"([a-z_0-9.]+)=\*(.*)")
BOUNDED = re.compile(r"[^eE]*([eE][+-]?\d{1,3})?")
"""Limits the exponent, since Fraction would expand a huge one to all of its digits."""
RULE = "* must be followed by a number, as in *3 or *1/3"


def without_factors(words: Sequence[str]) -> list[str]:
    """Return the overrides that are not factors."""
    return [word for word in words if not TIMES.fullmatch(word)]


def composed(words: tuple[str, ...]) -> RunConfig:
    """Return the config of overrides without factors; of the first run if they name several."""
    return planner.plan(words).points[0].config


def resolve_factors(words: Sequence[str], compose: Compose = composed) -> list[str]:
    """Replace each factor by a number. Raises ConfigError.

    A factor multiplies the value of its key's own override, if there is one. So
    `policy=tiny algorithm.learning_rate=2e-3` also scales the arms with factors of the rate.
    `compose`: a cached `composed`, for arms that differ in their factors alone.
    """
    multiplied = [(match[1], match[2]) for word in words if (match := TIMES.fullmatch(word))]
    base = without_factors(words)
    if not multiplied:
        return base
    factors = dict(multiplied)
    if len(factors) < len(multiplied):
        raise ConfigError(
            f"{multiplied[-1][0]}=*{multiplied[-1][1]}: a key takes one factor, got two"
        )
    config = compose(tuple(base))  # the caller refuses several runs
    kept = [word for word in base if word.split("=")[0] not in factors]
    return kept + [f"{key}={_product(config, key, factor)!r}" for key, factor in multiplied]


def _product(config: Any, key: str, factor: str) -> int | float:
    value = config
    for name in key.split("."):
        value = getattr(value, name, None)
    if key == "seed" or isinstance(value, bool) or not isinstance(value, int | float):
        overrides.check(parse([f"{key}={factor}"]))  # reports an unknown key
        rule = "only numeric keys can be multiplied, except seed and the keys of a remedy"
        raise ConfigError(f"{key}=*{factor}: {rule}")
    try:
        if not BOUNDED.fullmatch(factor):
            raise ValueError(factor)
        product = Fraction(factor) * Fraction(value)
        is_whole = isinstance(value, int) and product.denominator == 1
        return int(product) if is_whole else float(product)
    except (ValueError, ArithmeticError) as error:
        raise ConfigError(f"{key}=*{factor}: {RULE}, got {factor!r}") from error
