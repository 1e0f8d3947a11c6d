"""The frame of the law's figure: limits that its panels share, and ceilings in a strip at the left.

The charts of the HTML report use the same frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.law.results import Floats, Interval
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import PanelGrid
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import GroupTrace
from harness.report.figures.palette import open_arrow
from harness.report.figures.ranges import MinimumRange
from harness.report.figures.run_series import Trace

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

HEADING = "Reward R against policy entropy H, and the law R = -a exp(H) + b"
ROW_HEIGHT = 2.6
"""Inches."""
REACH = 0.5
"""A ceiling may extend the axis by this share of its range; one further away becomes an arrow."""
STRIP = 0.09
"""Width of the strip for ceilings, to the left of the plot, as a share of the panel."""
OFF_THE_SCALE = "ceiling or interval off the scale"


@dataclass(frozen=True)
class LawFrame:
    """The limits that all panels share."""

    left: float
    """Lowest H drawn: 0, or just below the data if these are far from 0."""
    right: float
    low: float
    high: float

    @property
    def strip(self) -> float:
        """Width of the ceilings' strip in units of H."""
        return STRIP * (self.right - self.left) / (1 - STRIP)

    def place(self, share: float) -> float:
        """Return the H at a share of the strip's width."""
        return self.left - self.strip * (1 - share)


def frame_of_runs(traces: Sequence[Trace], reward_range: float | None) -> LawFrame:
    """Return the frame for single runs."""
    ceilings = [(t.ceiling, t.ceiling_identified) for t in traces if t.ceiling is not None]
    return _frame(
        [trace.points.entropy for trace in traces],
        [trace.points.reward for trace in traces],
        [ceiling for ceiling, is_identified in ceilings if is_identified],
        [ceiling.value for ceiling, is_identified in ceilings if not is_identified],
        reward_range,
    )


def frame_of_groups(pools: Sequence[GroupTrace], reward_range: float | None) -> LawFrame:
    """Return the frame for medians over runs, with the ceilings of identified laws."""
    return _frame(
        [pool.entropy.median for pool in pools],
        [ends for pool in pools for ends in (pool.reward.low, pool.reward.high)],
        [pool.ceiling for pool in pools if pool.ceiling is not None],
        [],
        reward_range,
    )


def _frame(
    entropy: Sequence[Floats],
    reward: Sequence[Floats],
    ceilings: Sequence[Interval],
    unidentified: Sequence[float],
    reward_range: float | None,
) -> LawFrame:
    """Return limits around all points, from H = 0 unless the data are far from it.

    An identified ceiling extends the axis to its interval, by at most REACH times the range of the
    points (or the axis' least range). One in `unidentified` extends it to its value if that is no
    further.
    """
    lowest, highest = canvas.limits(entropy, 0.03, least=MinimumRange(ranges.H_NATS, 0.0))
    points, least = ranges.finite(reward), ranges.reward(reward, reward_range)
    ends = np.array(
        [end for ceiling in ceilings for end in (ceiling.low, ceiling.value, ceiling.high)]
    )
    guesses = np.array(unidentified)
    if len(points):
        margin = REACH * max(float(np.ptp(points)), least.span)
        furthest = points.min() - margin, points.max() + margin
        ends = np.clip(ends, *furthest)
        guesses = guesses[(furthest[0] <= guesses) & (guesses <= furthest[1])]
    low, high = canvas.limits([points, ends, guesses], least=least)
    return LawFrame(0.0 if lowest <= 0.6 * highest else lowest, highest, low, high)


def set_limits_and_labels(
    grid: PanelGrid, position: int, frame: LawFrame, names: AxisNames
) -> None:
    """Draw limits, labels, and the strip for ceilings at the left edge."""
    (axes,), leftmost = grid.panels[position], grid.leftmost(position)
    axes.set_xlim(frame.left - frame.strip, frame.right)
    axes.set_ylim(frame.low, frame.high)
    axes.axvspan(frame.left - frame.strip, frame.left, color="#f4f4f4", lw=0, zorder=0)
    axes.axvline(frame.left, color=canvas.GREY, lw=0.8, zorder=1)
    axes.set_xticks([t for t in axes.get_xticks() if frame.left <= t <= frame.right])
    grid.label_x(axes, names.entropy)
    axes.tick_params(labelleft=leftmost)
    if leftmost:
        grid.label_y(axes, names.reward)


def hides_all(low: Floats, high: Floats, frame: LawFrame) -> bool:
    """Return whether a band covers the panel over most of its width, and so says nothing."""
    return bool(np.mean((low <= frame.low) & (high >= frame.high)) > 0.5)


def edges_exceeded(ceiling: Interval, frame: LawFrame) -> Iterator[tuple[float, str]]:
    """Yield each edge that the ceiling or its interval exceeds, and the direction of its arrow."""
    if min(ceiling.low, ceiling.value) < frame.low:
        yield frame.low, "v"
    if max(ceiling.high, ceiling.value) > frame.high:
        yield frame.high, "^"


def draw_ceiling(
    axes: Axes, x: float, ceiling: Interval, slot: int | None, frame: LawFrame
) -> bool:
    """Draw a ceiling with its interval at H = `x`; grey and hollow if not identified (no slot).

    A part off the scale is replaced by an open arrow at the edge. Returns whether there is any.
    """
    colour = canvas.GREY if slot is None else canvas.colour(slot)
    low, high = np.clip([ceiling.low, ceiling.high], frame.low, frame.high)
    axes.plot([x, x], [low, high], "-", color=colour, lw=canvas.symbol_size(1.4), zorder=4)
    arrows = list(edges_exceeded(ceiling, frame))
    for edge, head in arrows:
        axes.plot([x], [edge], **open_arrow(head, colour, canvas.symbol_size(7)))
    if frame.low <= ceiling.value <= frame.high:
        axes.plot(
            [x], [ceiling.value], "D", color=colour, mfc="white" if slot is None else colour,
            ms=canvas.symbol_size(5), zorder=5,
        )  # fmt: skip
    return bool(arrows)


def off_the_scale() -> canvas.Legend:
    """Return the legend's entry for an open arrow."""
    return {OFF_THE_SCALE: canvas.line(**open_arrow("^", canvas.INK, canvas.symbol_size(7)))}
