"""Rows of a figure with the seeds of a group and, below them, an estimate over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.law.results import Floats
from harness.report.figures import canvas, style
from harness.report.figures.canvas import Limits, label, wrap
from harness.report.figures.palette import open_arrow
from harness.report.figures.ranges import MinimumRange

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

FEWEST = 2
"""The fewest seeds for which an estimate is drawn; for one seed it would repeat the seed."""
BELOW, SPREAD, MOST_APART = 0.2, 0.16, 0.12
"""Distances in rows: estimate below its row, seeds above it, and at most between equal seeds."""
REACH = 1.0
"""An interval may extend the axis by this share of the seeds' range; a wider one goes beyond it."""
TOUCHING = 0.03
"""Width of a symbol as a share of the axis: seeds closer than this hide each other."""
BEYOND = "the interval continues beyond the axis"
MOST = 60
"""The most characters of a name, over all its lines."""


def names(words: Iterable[str]) -> list[str]:
    """Return the groups' labels on an axis, all different, wrapped at the style's width."""
    group_names = list(words)
    shortened = canvas.labels(group_names, MOST)
    return [
        wrap(shortened[name], style.current().name_width) or label(name) for name in group_names
    ]


@dataclass(frozen=True)
class Dot:
    """A seed in a row."""

    value: float
    colour: str
    symbol: str = "o"
    hollow: bool = False


def swarm(values: Sequence[float], width: float) -> Floats:
    """Return offsets in rows, 0 for a value with no other within `width`.

    Two values nearer than `width` never have the same offset.
    """
    ends: list[float] = []
    lanes = np.zeros(len(values), dtype=int)
    for index in np.argsort(values, kind="stable"):
        free_lanes = (lane for lane, end in enumerate(ends) if values[index] - end >= width)
        lane = next(free_lanes, len(ends))
        ends[lane : lane + 1] = [values[index]]
        lanes[index] = lane
    spacing = min(MOST_APART, SPREAD / max(len(ends) // 2, 1))
    sides = np.where(lanes % 2 == 1, -1.0, 1.0)  # the lanes after 0 alternate sides
    offsets: Floats = spacing * sides * ((lanes + 1) // 2)
    return offsets


def dots(axes: Axes, row: float, seeds: Sequence[Dot]) -> None:
    """Draw seeds, stacking those of similar value. The limits of the axis must be set before."""
    left, right = axes.get_xlim()
    heights = row - SPREAD + swarm([seed.value for seed in seeds], TOUCHING * (right - left))
    for symbol, hollow in dict.fromkeys((seed.symbol, seed.hollow) for seed in seeds):
        same_symbol = [
            (seed, height)
            for seed, height in zip(seeds, heights, strict=True)
            if (seed.symbol, seed.hollow) == (symbol, hollow)
        ]
        colours = [seed.colour for seed, _ in same_symbol]
        axes.scatter(
            [seed.value for seed, _ in same_symbol], [height for _, height in same_symbol],
            canvas.symbol_size(4.5) ** 2, marker=symbol, edgecolors=colours,
            facecolors="none" if hollow else colours, alpha=0.8, clip_on=False, linewidths=0.8,
        )  # fmt: skip


def estimate(
    axes: Axes,
    row: float,
    seeds: int,
    ends: tuple[float | None, float | None, float | None],
    open_end: float | None = None,
) -> bool:
    """Draw a diamond with its interval. Return whether the interval goes beyond the axis.

    `ends`: value, low, high. An open arrow marks an end beyond the axis. `open_end` is the position
    to which an interval without an upper end is drawn. Nothing is drawn over fewer than FEWEST
    `seeds`. The limits of the axis must be set before.
    """
    value, low, high = ends
    if value is None or seeds < FEWEST:
        return False
    (left, right), y = axes.get_xlim(), row + BELOW
    is_open = high is None and low is not None and open_end is not None
    high = open_end if is_open else high
    arrows: list[tuple[float, str]] = []
    if low is not None and high is not None:
        clipped = np.clip([low, high], left, right)
        axes.plot(clipped, [y] * 2, "-", color=canvas.INK, lw=canvas.symbol_size(1.4), zorder=3)
        arrows += [(left, "<")] if low < left else []
        arrows += [(min(high, right), ">")] if high > right or is_open else []
    for edge, head in arrows:
        axes.plot([edge], [y], **open_arrow(head, canvas.INK, canvas.symbol_size(7)))
    if left <= value <= right:
        axes.plot(
            [value], [y], "D",
            color=canvas.INK, ms=canvas.symbol_size(4.5), zorder=4, clip_on=False
        )  # fmt: skip
    return bool(arrows)


def beyond_entry() -> canvas.Legend:
    """Return the legend's entry for an interval that goes beyond its axis."""
    properties = open_arrow(">", canvas.INK, canvas.symbol_size(7))
    return {BEYOND: canvas.line(**properties)}


def limits(seeds: Sequence[float], ends: Iterable[float | None], least: MinimumRange) -> Limits:
    """Return limits around the seeds, and the ends of intervals as far as REACH permits."""
    values = np.array(seeds, dtype=float)
    if not len(values):
        return 0.0, 1.0
    air = REACH * (float(np.ptp(values)) or max(abs(float(values[0])), 0.1))
    bounds = np.array([end for end in ends if end is not None], dtype=float)
    clipped = np.clip(bounds, values.min() - air, values.max() + air)
    return canvas.limits([values, clipped], least=least)
