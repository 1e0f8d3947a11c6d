"""The answer of a probe: lines with intervals, over training steps or over the number of tries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing

NAME = "probe"
COLUMNS = ("panel", "line", "x", "value", "low", "high")
HEIGHT, STACKED_HEIGHT = 2.2, 1.5
PEOPLE = "human supporters, by the same reader"
COURSE_COLOURS = (canvas.INK, canvas.GREY)
"""Colours of H and R, different from those of the levels."""
ASIDE = 0.012
"""Offset between the intervals of lines, as a share of the axis."""


@dataclass(frozen=True)
class ProbePoint:
    """A value and its interval, None if it has none."""

    x: float
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ProbeSeries:
    """A series of points."""

    name: str
    slot: int
    """Number of its colour and marker."""
    points: tuple[ProbePoint, ...]
    is_reference: bool = False
    """Dashed: the other lines are compared with it."""
    is_course: bool = False
    """A value at every step of a run: a line in a colour of its own, without markers."""


@dataclass(frozen=True)
class ProbePanel:
    """A quantity, a level, or the course of a run."""

    title: str
    x_name: str
    y_name: str
    lines: tuple[ProbeSeries, ...]
    people: float | None = None
    """Value of human supporters."""
    doubles: bool = False
    """True if x doubles from point to point."""

    @property
    def is_course(self) -> bool:
        """True for the run's own course, which is drawn above the other panels."""
        return any(line.is_course for line in self.lines)


def draw(heading: str, panels: Sequence[ProbePanel]) -> Drawing:
    """Draw the panels. Points are shifted if their intervals would hide each other.

    If the first panel is the course of a run, all panels are stacked, so that a step is at the same
    place in each.
    """
    titles = [panel.title for panel in panels]
    is_stacked = panels[0].is_course
    height = STACKED_HEIGHT if is_stacked else HEIGHT
    grid = canvas.grid(heading, titles, 1, height, is_stacked=is_stacked)
    entries: canvas.Legend = {}
    for panel, (axes,) in zip(panels, grid.panels, strict=True):
        _panel(axes, panel)
        entries |= _entries(panel)
        grid.label_x(axes, panel.x_name)
        grid.label_y(axes, panel.y_name)
    _share_limits([axes for (axes,) in grid.panels])
    if len(entries) > 1:
        canvas.legend(grid.figure, entries)
    return Drawing(NAME, grid.figure, COLUMNS, tuple(_rows(panels)))


def _panel(axes: Any, panel: ProbePanel) -> None:
    ticks = sorted({point.x for line in panel.lines for point in line.points})
    for number, line in enumerate(panel.lines):
        shift = ASIDE * (number - (len(panel.lines) - 1) / 2)
        if line.is_course:
            x = [point.x for point in line.points]
        elif panel.doubles:
            octaves = math.log2(ticks[-1] / ticks[0])
            x = [point.x * 2 ** (shift * octaves) for point in line.points]
        else:
            x = [point.x + shift * ticks[-1] for point in line.points]
        _line(axes, line, x)
    if panel.people is not None:
        axes.axhline(panel.people, color=canvas.GREY, lw=1.0, ls=":")
    if panel.doubles:
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def _entries(panel: ProbePanel) -> canvas.Legend:
    entries: canvas.Legend = {
        line.name: canvas.line(**_line_properties(line)) for line in panel.lines
    }
    if panel.people is not None:
        entries[PEOPLE] = canvas.line(color=canvas.GREY, ls=":")
    return entries


def _share_limits(panel_axes: Sequence[Any]) -> None:
    """Give all panels the x limits that contain those of each."""
    limits = [axes.get_xlim() for axes in panel_axes]
    for axes in panel_axes:
        axes.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _line_properties(line: ProbeSeries) -> dict[str, Any]:
    if line.is_course:
        color = COURSE_COLOURS[line.slot]
        return {"color": color, "ls": ("-", "-.")[line.slot], "lw": canvas.symbol_size(1.3)}
    return {
        "color": canvas.colour(line.slot),
        "marker": canvas.marker(line.slot),
        "ls": "--" if line.is_reference else "-",
        "ms": canvas.symbol_size(4),
        "lw": canvas.symbol_size(1.3),
        "alpha": 0.6 if line.is_reference else 1.0,
    }


def _line(axes: Any, line: ProbeSeries, xs: Sequence[float]) -> None:
    values = [point.value for point in line.points]
    axes.plot(xs, values, **_line_properties(line))
    for x, point in zip(xs, line.points, strict=True):
        if point.low is not None and point.high is not None:
            axes.vlines(x, point.low, point.high, color=canvas.colour(line.slot), lw=1.0, alpha=0.7)


def _rows(panels: Sequence[ProbePanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for line in panel.lines:
            for point in line.points:
                values = (panel.title, line.name, point.x, point.value, point.low, point.high)
                yield dict(zip(COLUMNS, values, strict=True))
