"""What a probe found: lines with intervals, over steps of training or over a number of tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing

NAME = "probe"
COLUMNS = ("panel", "line", "x", "value", "low", "high")
HEIGHT = 2.2
ASIDE = 0.012
"""Share of the axis by which the lines' intervals stand apart."""


@dataclass(frozen=True)
class Point:
    """A value and its interval, None where it has none."""

    x: float
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Line:
    """Values that belong together."""

    name: str
    slot: int
    """Number of its colour and marker."""
    points: tuple[Point, ...]
    is_reference: bool = False
    """Dashed: what the others are held against."""


@dataclass(frozen=True)
class Panel:
    """One quantity, or one level."""

    title: str
    x_name: str
    y_name: str
    lines: tuple[Line, ...]
    people: float | None = None
    """Of human supporters."""
    doubles: bool = False
    """Whether x doubles from point to point."""


def draw(heading: str, panels: Sequence[Panel]) -> Drawing:
    """One panel each; points stand apart where their intervals would hide each other."""
    grid = canvas.grid(heading, [panel.title for panel in panels], 1, HEIGHT)
    entries: canvas.Legend = {}
    for panel, (axes,) in zip(panels, grid.panels, strict=True):
        farthest = max((point.x for line in panel.lines for point in line.points), default=1.0)
        for number, line in enumerate(panel.lines):
            shift = ASIDE * farthest * (number - (len(panel.lines) - 1) / 2)
            _line(axes, line, 0.0 if panel.doubles else shift)
            look = _look(line)
            entries[line.name] = canvas.line(**look)
        if panel.people is not None:
            axes.axhline(panel.people, color=canvas.GREY, lw=1.0, ls=":")
            entries["human supporters, by the same reader"] = canvas.line(color=canvas.GREY, ls=":")
        if panel.doubles:
            ticks = sorted({point.x for line in panel.lines for point in line.points})
            axes.set_xscale("log", base=2)
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        grid.label_x(axes, panel.x_name)
        grid.label_y(axes, panel.y_name)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    canvas.legend(grid.figure, entries)
    return Drawing(NAME, grid.figure, COLUMNS, tuple(_rows(panels)))


def _look(line: Line) -> dict[str, Any]:
    return {
        "color": canvas.colour(line.slot),
        "marker": canvas.marker(line.slot),
        "ls": "--" if line.is_reference else "-",
        "ms": canvas.sized(4),
        "lw": canvas.sized(1.3),
        "alpha": 0.6 if line.is_reference else 1.0,
    }


def _line(axes: Any, line: Line, shift: float) -> None:
    at = [point.x + shift for point in line.points]
    values = [point.value for point in line.points]
    axes.plot(at, values, **_look(line))
    for x, point in zip(at, line.points, strict=True):
        if point.low is not None and point.high is not None:
            axes.vlines(x, point.low, point.high, color=canvas.colour(line.slot), lw=1.0, alpha=0.7)


def _rows(panels: Sequence[Panel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for line in panel.lines:
            for point in line.points:
                values = (panel.title, line.name, point.x, point.value, point.low, point.high)
                yield dict(zip(COLUMNS, values, strict=True))
