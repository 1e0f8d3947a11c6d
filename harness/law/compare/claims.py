"""Claims that a difference over seeds allows: it differs, it is below the margin, or neither.

All p are adjusted by Holm 1979, so that looking at many finds nothing by itself: those of
contrasts as `families` says. The margins are below which a difference counts as none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from harness.errors import ConfigError
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.estimate import numbers

LEVEL = 0.05
SMALL = "smaller than the margin"
"""Why a difference that is shown may not matter."""
POWER = 0.80
MOST_SEEDS = 1000
"""More than this is no plan."""


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p in the order given."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return [float(value) for value in adjusted]


def p_differs(estimate: Estimate) -> float:
    """Two-sided, of no difference."""
    return 2 * numbers.t_tail(abs(estimate.value) / estimate.error, estimate.df)


def p_equivalent(estimate: Estimate, margin: float) -> float:
    """p of a difference of `margin` or more: the larger of two one-sided ones (Schuirmann 1987)."""
    return numbers.t_tail((margin - abs(estimate.value)) / estimate.error, estimate.df)


def p_short(estimate: Estimate, sign: int, margin: float) -> float:
    """p of a difference of `margin` or more in the direction of `sign`, 1 or -1.

    Twice the one-sided p, so that it is below 0.05 where the 95% interval keeps short of that.
    """
    return min(
        1.0, 2 * numbers.t_tail((margin - sign * estimate.value) / estimate.error, estimate.df)
    )


def p_text(p: float) -> str:
    """p as text: three decimals, and no p of 0."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def minimum_detectable(estimate: Estimate, comparisons: float) -> float:
    """The difference found with probability POWER at this spread, as one of `comparisons`."""
    return estimate.error * _reach(estimate.df, comparisons)


def seeds_needed(spreads: tuple[float, float], margin: float, comparisons: float) -> int | None:
    """Seeds a group with which a difference of `margin` is found with probability POWER.

    `spreads` are the standard deviations over seeds of both; None above MOST_SEEDS.
    """
    one, other = (spread**2 for spread in spreads)
    together = one + other
    # degrees of freedom for each seed more: 2 where both spread alike, 1 where one does not at all
    free = 1 / ((one / together) ** 2 + (other / together) ** 2) if together else 2.0
    for seeds in range(FEWEST_SEEDS, MOST_SEEDS + 1):
        if (together / seeds) ** 0.5 * _reach(free * (seeds - 1), comparisons) <= margin:
            return seeds
    return None


def _reach(df: float, comparisons: float) -> float:
    """Standard errors that a difference must measure; the first step of Holm's is the strictest."""
    critical = numbers.t_quantile(1 - LEVEL / comparisons / 2, df)
    return critical + numbers.t_quantile(POWER, df)


DEFAULT_MARGINS: Mapping[str, float] = {
    "a": 0.20, "ceiling": 0.05, "onset": 0.10, "gain": 0.05, "fall": 0.10,
}  # fmt: skip
"""a as a share of the mean of both a, ceiling and gain in reward, onset as a share of the run, the
fall of H in nats."""
MARGIN_OPTION = "--margin"


def parse_margins(words: Sequence[str]) -> dict[str, float]:
    """DEFAULT with each `QUANTITY=VALUE` put in its place. Raises ConfigError."""
    margins = dict(DEFAULT_MARGINS)
    named: set[str] = set()
    for word in words:
        quantity, equals, text = word.partition("=")
        if quantity not in DEFAULT_MARGINS or not equals:
            allowed = ", ".join(DEFAULT_MARGINS)
            raise ConfigError(
                f"{MARGIN_OPTION}: must be QUANTITY=VALUE for one of {allowed}, got {word!r}"
            )
        if quantity in named:
            raise ConfigError(
                f"{MARGIN_OPTION}: must name a quantity once, got {quantity} again: {word!r}"
            )
        named.add(quantity)
        margins[quantity] = _positive(text, word)
    return margins


def margins_of(given: Mapping[str, float]) -> dict[str, float]:
    """The default margins, with those `given` in place of theirs. Raises ConfigError as
    `parse_margins` does.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"margins: must map quantities to numbers, got {given!r}")
    margins = dict(DEFAULT_MARGINS)
    for quantity, value in given.items():
        if quantity not in DEFAULT_MARGINS:
            allowed = ", ".join(DEFAULT_MARGINS)
            raise ConfigError(f"margins: a key must be one of {allowed}, got {quantity!r}")
        margins[quantity] = _finite(value)
        if not margins[quantity] > 0:
            rule = "must be a finite number above 0"
            raise ConfigError(f"margins: {quantity} {rule}, got {value!r}")
    return margins


def _finite(value: float | str) -> float:
    """The number; nan where it is none, or is infinite."""
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _positive(text: str, word: str) -> float:
    value = _finite(text)
    if not value > 0:
        raise ConfigError(f"{MARGIN_OPTION}: VALUE must be a finite number above 0, got {word!r}")
    return value
