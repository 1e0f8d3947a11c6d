"""Rows of a figure that hold the seeds of a group and, below them, an estimate over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.report.figures import canvas, style
from harness.report.figures.canvas import Limits, label, wrapped
from harness.report.figures.ranges import Least

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

FEWEST = 2
"""Seeds that an estimate over seeds stands on; of one seed it would be the seed once more."""
BELOW, SPREAD, MOST_APART = 0.2, 0.16, 0.12
"""How far below its row an estimate stands and above it its seeds, and how far seeds of one value
stand from one another at most, in rows."""
REACH = 1.0
"""An interval may widen the axis by this share of what the seeds span; a wider one runs off."""
MOST = 60
"""Characters of a name, in all its lines."""


def names(words: Iterable[str]) -> list[str]:
    """Names of groups as they stand on an axis, no two alike, in lines of the style's width."""
    each = list(words)
    found = canvas.labels(each, MOST)
    return [wrapped(found[name], style.current().name_width) or label(name) for name in each]


def dots(
    axes: Axes,
    row: float,
    values: Sequence[float],
    colour: str,
    symbol: str = "o",
    hollow: bool = False,
) -> None:
    """Seeds, those of equal value above one another."""
    at = np.sort(np.array(values, dtype=float))
    _, first, counts = np.unique(at, return_index=True, return_counts=True)
    among = np.arange(len(at)) - np.repeat(first, counts)
    many = np.repeat(counts, counts)
    apart = np.minimum(MOST_APART, 2 * SPREAD / np.maximum(many - 1, 1))
    heights = row - SPREAD + apart * (among - (many - 1) / 2)
    axes.scatter(
        at, heights, canvas.sized(4.5) ** 2, marker=symbol, edgecolors=colour,
        facecolors="none" if hollow else colour, alpha=0.8, clip_on=False, linewidths=0.8,
    )  # fmt: skip


def estimate(
    axes: Axes,
    row: float,
    seeds: int,
    ends: tuple[float | None, float | None, float | None],
    open_end: float | None = None,
) -> None:
    """A diamond and its interval, `ends`: value, low, high; an arrow where it runs off the axis.

    `open_end` is where an interval without an upper end is drawn to. Nothing is drawn over fewer
    than FEWEST `seeds`. The limits of the axis must be set before.
    """
    value, low, high = ends
    if value is None or seeds < FEWEST:
        return
    (left, right), at = axes.get_xlim(), row + BELOW
    is_open = high is None and low is not None and open_end is not None
    high = open_end if is_open else high
    if low is not None and high is not None:
        inside = np.clip([low, high], left, right)
        axes.plot(inside, [at] * 2, "-", color=canvas.INK, lw=canvas.sized(1.4), zorder=3)
        for off, edge, head in (
            (low < left, left, "<"),
            (high > right or is_open, min(high, right), ">"),
        ):
            if off:
                axes.plot(
                    [edge], [at], head, color=canvas.INK, ms=canvas.sized(5), clip_on=False
                )  # fmt: skip
    if left <= value <= right:
        axes.plot(
            [value], [at], "D", color=canvas.INK, ms=canvas.sized(4.5), zorder=4, clip_on=False
        )  # fmt: skip


def limits(seeds: Sequence[float], ends: Iterable[float | None], least: Least) -> Limits:
    """Round the seeds, and the ends of intervals as far as REACH lets them."""
    values = np.array(seeds, dtype=float)
    if not len(values):
        return 0.0, 1.0
    air = REACH * (float(np.ptp(values)) or max(abs(float(values[0])), 0.1))
    known = np.array([end for end in ends if end is not None], dtype=float)
    within = np.clip(known, values.min() - air, values.max() + air)
    return canvas.limits([values, within], least=least)
