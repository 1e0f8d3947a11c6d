"""Axes of a panel and their round tick values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.figures.canvas import Limits

TICKS = 5
FINEST = 1e-9
"""Smallest range of an axis relative to its values; a smaller one is treated as a single value."""


@dataclass(frozen=True)
class Axis:
    """An axis: label, ends, and ticks (value and text)."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


def axis(label: str, limits: Limits, ticks: Sequence[tuple[float, str]] | None = None) -> Axis:
    """Return an axis with round ticks, or with those given."""
    low, high = limits
    smallest = FINEST * max(abs(low), abs(high), 1e-300)
    if not high - low > smallest:
        margin = max(abs(low), 1.0) / 2
        low, high = low - margin, low + margin
    return Axis(label, low, high, tuple(ticks) if ticks is not None else round_ticks(low, high))


def round_ticks(low: float, high: float, most: int = TICKS) -> tuple[tuple[float, str], ...]:
    """Return at most `most` + 1 multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for spacing in (power * size for size in (1, 2, 5, 10)):
        first, last = math.ceil(low / spacing - 1e-9), math.floor(high / spacing + 1e-9)
        if last - first <= most:
            break
    decimals = max(0, -math.floor(math.log10(spacing) + 1e-9))
    values = [n * spacing for n in range(first, last + 1)]
    if spacing >= 1000:
        return tuple((value, f"{value:g}") for value in values)
    return tuple((value, f"{value + 0.0:.{decimals}f}") for value in values)
