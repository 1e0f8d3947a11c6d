"""Test whether a difference over seeds is nonzero, smaller than a margin, or neither is shown.

All p are adjusted for multiple tests by Holm 1979, those of contrasts as described in `families`.
Differences below the margin count as none.
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
"""Reason given with a difference that is significant but may not matter."""
POWER = 0.80
MOST_SEEDS = 1000
"""Larger plans are not reported."""


def holm(p: Sequence[float]) -> list[float]:
    """Return the p adjusted by Holm's method, in the order given."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return [float(value) for value in adjusted]


def p_differs(estimate: Estimate) -> float:
    """Return the two-sided p of the hypothesis of no difference."""
    return 2 * numbers.t_tail(abs(estimate.value) / estimate.error, estimate.df)


def p_equivalent(estimate: Estimate, margin: float) -> float:
    """Return the p of the hypothesis of a difference of `margin` or more in either direction.

    It is the larger p of two one-sided tests (Schuirmann 1987).
    """
    return numbers.t_tail((margin - abs(estimate.value)) / estimate.error, estimate.df)


def p_short(estimate: Estimate, sign: int, margin: float) -> float:
    """Return the p of the hypothesis of a difference of `margin` or more in the direction `sign`.

    `sign` is 1 or -1. It is twice the one-sided p, so it is below 0.05 if the 95% interval
    excludes the margin.
    """
    return min(
        1.0, 2 * numbers.t_tail((margin - sign * estimate.value) / estimate.error, estimate.df)
    )


def p_text(p: float) -> str:
    """Format p with three decimals, or as <0.001."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def minimum_detectable(estimate: Estimate, comparisons: float) -> float:
    """Return the difference detected with probability POWER, as one of `comparisons` tests."""
    return estimate.error * _reach(estimate.df, comparisons)


def seeds_needed(spreads: tuple[float, float], margin: float, comparisons: float) -> int | None:
    """Return the seeds per group that detect a difference of `margin` with probability POWER.

    `spreads` are the standard deviations over seeds of the two groups. None above MOST_SEEDS.
    """
    first, second = (spread**2 for spread in spreads)
    total = first + second
    # degrees of freedom per added seed: 2 if both spreads are equal, 1 if one of them is 0
    df_per_seed = 1 / ((first / total) ** 2 + (second / total) ** 2) if total else 2.0
    for seeds in range(FEWEST_SEEDS, MOST_SEEDS + 1):
        if (total / seeds) ** 0.5 * _reach(df_per_seed * (seeds - 1), comparisons) <= margin:
            return seeds
    return None


def _reach(df: float, comparisons: float) -> float:
    """Return the detectable difference in standard errors, at the strictest (first) Holm step."""
    critical = numbers.t_quantile(1 - LEVEL / comparisons / 2, df)
    return critical + numbers.t_quantile(POWER, df)


DEFAULT_MARGINS: Mapping[str, float] = {
    "a": 0.20, "ceiling": 0.05, "onset": 0.10, "gain": 0.05, "fall": 0.10,
}  # fmt: skip
"""Units: a as a share of the mean a of both groups, ceiling and gain in reward, onset as a share of
the run, fall of H in nats."""
MARGIN_OPTION = "--margin"


def parse_margins(words: Sequence[str]) -> dict[str, float]:
    """Return DEFAULT_MARGINS updated by words QUANTITY=VALUE. Raise ConfigError for a bad word."""
    margins = dict(DEFAULT_MARGINS)
    assigned: set[str] = set()
    for word in words:
        quantity, equals, text = word.partition("=")
        if quantity not in DEFAULT_MARGINS or not equals:
            allowed = ", ".join(DEFAULT_MARGINS)
            raise ConfigError(
                f"{MARGIN_OPTION}: must be QUANTITY=VALUE for one of {allowed}, got {word!r}"
            )
        if quantity in assigned:
            raise ConfigError(
                f"{MARGIN_OPTION}: must name a quantity once, got {quantity} again: {word!r}"
            )
        assigned.add(quantity)
        margins[quantity] = _positive(text, word)
    return margins


def margins_of(updates: Mapping[str, float]) -> dict[str, float]:
    """Return DEFAULT_MARGINS with `updates`. Raise ConfigError if a key or value is invalid."""
    if not isinstance(updates, Mapping):
        raise ConfigError(f"margins: must map quantities to numbers, got {updates!r}")
    margins = dict(DEFAULT_MARGINS)
    for quantity, value in updates.items():
        if quantity not in DEFAULT_MARGINS:
            allowed = ", ".join(DEFAULT_MARGINS)
            raise ConfigError(f"margins: a key must be one of {allowed}, got {quantity!r}")
        margins[quantity] = _finite(value)
        if not margins[quantity] > 0:
            rule = "must be a finite number above 0"
            raise ConfigError(f"margins: {quantity} {rule}, got {value!r}")
    return margins


def _finite(value: float | str) -> float:
    """Return the value as a float; nan if it is not a finite number."""
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
