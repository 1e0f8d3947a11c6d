"""A panel of a chart: values become marks in SVG units, and points that a reader can hover over.

Marks are paths in the panel's own units with a class for the style sheet. Colours follow the page's
light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.report.figures.canvas import Limits
from harness.report.html.axes import Axis

WIDTH, HEIGHT = 380, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 40
"""Margins around the plot, for labels."""
SLOTS = 7
"""Number of colours in the style sheet."""
MARKERS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
    "m-2.6 -2.6h5.2v5.2h-5.2z",
    "m0 -3.4l3.2 5.8h-6.4z",
    "m0 -3.6l3 3.6l-3 3.6l-3 -3.6z",
    "m0 3.4l-3.2 -5.8h6.4z",
)  # fmt: skip
"""Paths relative to their centre; five, for seven colours."""
STAR = "m0 -5l1.3 3.4h3.6l-2.9 2.3l1.1 3.6l-3.1 -2.1l-3.1 2.1l1.1 -3.6l-2.9 -2.3h3.6z"
ARROW = {
    "<": "m-4 0l6 -3.5v7z",
    ">": "m4 0l-6 -3.5v7z",
    "^": "m0 -4l3.5 6h-7z",
    "v": "m0 4l3.5 -6h-7z",
}
OPEN_ARROW = {
    "<": "m4 -4l-4 4l4 4",
    ">": "m-4 -4l4 4l-4 4",
    "^": "m-4 4l4 -4l4 4",
    "v": "m-4 -4l4 4l4 -4",
}
"""Two strokes that meet at the edge beyond which an interval continues."""
DIGITS = 4
"""Significant digits of the values that a hovering reader sees."""


@dataclass(frozen=True)
class MarkPath:
    """A path with the CSS class `css`."""

    css: str
    path: str

    @property
    def clipped(self) -> bool:
        """True if it is cut at the edge of the panel; symbols are drawn whole."""
        return not self.css.startswith("dot")


@dataclass(frozen=True)
class Label:
    """Text in a panel."""

    css: str
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class HoverPoints:
    """Points that a reader can hover over, and their text."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    slot: int
    steps: Sequence[float] | None = None
    """The step of each point, if neither axis shows it."""
    words: Sequence[str] | None = None
    """The text of each point, if its two values are not enough."""


@dataclass(frozen=True)
class ChartPanel:
    """A panel, ready for the template."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[MarkPath, ...]
    labels: tuple[Label, ...]
    hovered: tuple[HoverPoints, ...]
    height: float
    left: float

    @property
    def data(self) -> dict[str, Any]:
        """The data from which the script finds a point and its text."""
        box = [self.left, TOP, WIDTH - self.left - RIGHT, self.height - TOP - BOTTOM]
        return {
            "x": [self.x.label, _short(self.x.low), _short(self.x.high)],
            "y": [self.y.label, _short(self.y.low), _short(self.y.high)],
            "box": box,
            "series": [_series(points) for points in self.hovered],
        }

    @property
    def ticks(self) -> dict[str, list[tuple[float, str]]]:
        """Position and text of each tick, by axis."""
        scale = _Scale(self.x, self.y, self.left, self.height)
        return {
            "x": [(_px(scale.across(value)), text) for value, text in self.x.ticks],
            "y": [(_px(scale.up(value)), text) for value, text in self.y.ticks],
        }


@dataclass(frozen=True)
class LegendEntry:
    """An entry of the legend: a mark and its text."""

    css: str
    path: str
    text: str
    slot: int | None = None
    """Slot of the entry's series, which a reader can highlight."""


@dataclass(frozen=True)
class Chart:
    """A figure: panels side by side, a legend, and a heading."""

    name: str
    heading: str
    columns: tuple[tuple[ChartPanel, ...], ...]
    """Panels that are side by side if there is room; those of a column share its title."""
    legend: tuple[LegendEntry, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Scale:
    x: Axis
    y: Axis
    left: float
    height: float

    def across(self, value: float) -> float:
        width = WIDTH - self.left - RIGHT
        return self.left + width * (value - self.x.low) / (self.x.high - self.x.low)

    def up(self, value: float) -> float:
        height = self.height - TOP - BOTTOM
        return TOP + height * (1 - (value - self.y.low) / (self.y.high - self.y.low))


@dataclass
class Plot:
    """A panel under construction. Marks are added back to front; values not finite are skipped."""

    title: str
    x: Axis
    y: Axis
    height: float = HEIGHT
    left: float = LEFT
    _marks: list[MarkPath] = field(default_factory=list)
    _labels: list[Label] = field(default_factory=list)
    _hovered: list[HoverPoints] = field(default_factory=list)

    def panel(self) -> ChartPanel:
        return ChartPanel(
            self.title, self.x, self.y, tuple(self._marks), tuple(self._labels),
            tuple(self._hovered), self.height, self.left,
        )  # fmt: skip

    def line(
        self, css: str, x: Sequence[float], y: Sequence[float], *, stepped: bool = False
    ) -> None:
        """Draw a line through points; with `stepped`, it stays level until the next point."""
        points = self._positions(x, y)
        parts = [f"{'L' if index else 'M'}{_px(a)} {_px(b)}" for index, (a, b) in enumerate(points)]
        if stepped:
            parts = parts[:1] + [f"H{_px(a)}V{_px(b)}" for a, b in points[1:]]
        self._put(f"line {css}", "".join(parts))

    def band(
        self, css: str, x: Sequence[float], low: Sequence[float], high: Sequence[float]
    ) -> None:
        """Fill the area between two lines, clipped to the panel's height."""
        clipped = (float(np.clip(v, self.y.low, self.y.high)) for v in (*low, *reversed(high)))
        points = self._positions([*x, *reversed(x)], list(clipped))
        parts = [f"{'L' if index else 'M'}{_px(a)} {_px(b)}" for index, (a, b) in enumerate(points)]
        self._put(f"band {css}", "".join(parts) + "z" if parts else "")

    def dots(self, css: str, x: Sequence[float], y: Sequence[float], shape: str) -> None:
        """Draw a symbol at each point."""
        self._put(
            f"dot {css}", "".join(f"M{_px(a)} {_px(b)}{shape}" for a, b in self._positions(x, y))
        )

    def across(self, css: str, y: float) -> None:
        """Draw a horizontal line from edge to edge."""
        self.line(css, [self.x.low, self.x.high], [y, y])

    def upright(self, css: str, x: float) -> None:
        """Draw a vertical line from bottom to top."""
        self.line(css, [x, x], [self.y.low, self.y.high])

    def area(self, css: str, x: Limits, y: Limits | None = None) -> None:
        """Draw a shaded rectangle, of the whole height if `y` is None."""
        left, right = (float(np.clip(end, self.x.low, self.x.high)) for end in x)
        low, high = y or (self.y.low, self.y.high)
        self.band(css, [left, right], [low, low], [high, high])

    def words(self, css: str, x: float, y: float, text: str) -> None:
        scale = self._scale
        self._labels.append(Label(css, _px(scale.across(x)), _px(scale.up(y)), text))

    def hover(self, points: HoverPoints) -> None:
        if len(points.x):
            self._hovered.append(points)

    @property
    def _scale(self) -> _Scale:
        return _Scale(self.x, self.y, self.left, self.height)

    def _positions(self, x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
        scale = self._scale
        return [
            (scale.across(a), scale.up(b))
            for a, b in zip(x, y, strict=True)
            if math.isfinite(a) and math.isfinite(b)
        ]

    def _put(self, css: str, path: str) -> None:
        if path:
            self._marks.append(MarkPath(css, path))


def stairs(x: Sequence[float], *series: Sequence[float]) -> tuple[list[float], ...]:
    """Return x and each of the series with a corner before each point, so that all stay level
    until the next point.
    """
    return (
        [value for value in x for _ in range(2)][1:],
        *([value for value in y for _ in range(2)][:-1] for y in series),
    )


def css(slot: int) -> str:
    """Return the CSS classes of a series: of its colour, and its own, for highlighting."""
    return f"s{slot % SLOTS} k{slot}"


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]


def _series(points: HoverPoints) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": points.name,
        "slot": points.slot,
        "x": [_short(v) for v in points.x],
        "y": [_short(v) for v in points.y],
    }
    if points.steps is not None:
        values["step"] = [_short(v) for v in points.steps]
    if points.words is not None:
        values["words"] = list(points.words)
    return values


def _short(value: float) -> float | None:
    """Return the value with DIGITS digits; None if it is not finite, which JSON cannot express."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) and abs(short) < 1e9 else short


def _px(value: float) -> float:
    """Return the value rounded to a tenth, and limited to an area around the panel."""
    short = round(min(max(value, -2000.0), 2000.0), 1)
    return int(short) if short == int(short) else short
