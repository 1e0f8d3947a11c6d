"""How small a difference must be to be called none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.errors import ConfigError

DEFAULT: Mapping[str, float] = {
    "a": 0.20, "ceiling": 0.05, "onset": 0.10, "gain": 0.05, "fall": 0.10,
}  # fmt: skip
"""a as a share of the mean of both a, ceiling and gain in reward, onset as a share of the run, the
fall of H in nats."""
OPTION = "--margin"


def parse(given: Sequence[str]) -> dict[str, float]:
    """DEFAULT with each `QUANTITY=VALUE` put in its place. Raises ConfigError."""
    margins = dict(DEFAULT)
    named: set[str] = set()
    for word in given:
        quantity, equals, text = word.partition("=")
        if quantity not in DEFAULT or not equals:
            known = ", ".join(DEFAULT)
            raise ConfigError(f"{OPTION}: must be QUANTITY=VALUE for one of {known}, got {word!r}")
        if quantity in named:
            raise ConfigError(
                f"{OPTION}: must name a quantity once, got {quantity} again: {word!r}"
            )
        named.add(quantity)
        margins[quantity] = _positive(text, word)
    return margins


def _positive(text: str, word: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{OPTION}: VALUE must be a finite number above 0, got {word!r}")
    return value
