"""A panel of a chart: values to marks in the units of an SVG, and the points a reader can hover.

Marks are paths in the panel's own units with a class that the style sheet draws; colours follow the
page's light or dark scheme.
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
"""Around the plot, for labels."""
SLOTS = 7
"""Colours that the style sheet has."""
MARKERS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
    "m-2.6 -2.6h5.2v5.2h-5.2z",
    "m0 -3.4l3.2 5.8h-6.4z",
    "m0 -3.6l3 3.6l-3 3.6l-3 -3.6z",
    "m0 3.4l-3.2 -5.8h6.4z",
)  # fmt: skip
"""As paths from their middle; five beside seven colours."""
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
"""Two strokes that meet at the edge: an interval goes on beyond it."""
DIGITS = 4
"""Significant digits of the values that a reader hovers."""


@dataclass(frozen=True)
class Mark:
    """A path of the class `css`."""

    css: str
    path: str

    @property
    def clipped(self) -> bool:
        """Whether it ends at the edge of the panel; a symbol at the edge is drawn whole."""
        return not self.css.startswith("dot")


@dataclass(frozen=True)
class Label:
    """Words in a panel."""

    css: str
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Hovered:
    """Points that a reader can hover, and what is read there."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    slot: int
    steps: Sequence[float] | None = None
    """The step of each point, where that is not an axis."""
    words: Sequence[str] | None = None
    """What to say of each point, where its two values do not say it."""


@dataclass(frozen=True)
class Panel:
    """One picture, ready for the template."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    labels: tuple[Label, ...]
    hovered: tuple[Hovered, ...]
    height: float
    left: float

    @property
    def data(self) -> dict[str, Any]:
        """What the script needs to find a point and tell of it."""
        box = [self.left, TOP, WIDTH - self.left - RIGHT, self.height - TOP - BOTTOM]
        return {
            "x": [self.x.label, _short(self.x.low), _short(self.x.high)],
            "y": [self.y.label, _short(self.y.low), _short(self.y.high)],
            "box": box,
            "series": [_series(one) for one in self.hovered],
        }

    @property
    def ticks(self) -> dict[str, list[tuple[float, str]]]:
        """Place and words of each tick, by axis."""
        scale = _Scale(self.x, self.y, self.left, self.height)
        return {
            "x": [(_px(scale.across(value)), text) for value, text in self.x.ticks],
            "y": [(_px(scale.up(value)), text) for value, text in self.y.ticks],
        }


@dataclass(frozen=True)
class Entry:
    """A line of the legend: a mark and its words."""

    css: str
    path: str
    text: str
    slot: int | None = None
    """Of the series that the entry stands for; a reader can set it apart."""


@dataclass(frozen=True)
class Chart:
    """A figure: panels side by side, a legend, a sentence on what it shows."""

    name: str
    heading: str
    columns: tuple[tuple[Panel, ...], ...]
    """Panels that stand side by side where there is room; those of a column share its title."""
    legend: tuple[Entry, ...]
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
        room = self.height - TOP - BOTTOM
        return TOP + room * (1 - (value - self.y.low) / (self.y.high - self.y.low))


@dataclass
class Plot:
    """A panel while marks are put on it, back to front; what is not finite is left out."""

    title: str
    x: Axis
    y: Axis
    height: float = HEIGHT
    left: float = LEFT
    _marks: list[Mark] = field(default_factory=list)
    _labels: list[Label] = field(default_factory=list)
    _hovered: list[Hovered] = field(default_factory=list)

    def panel(self) -> Panel:
        return Panel(
            self.title, self.x, self.y, tuple(self._marks), tuple(self._labels),
            tuple(self._hovered), self.height, self.left,
        )  # fmt: skip

    def line(
        self, css: str, x: Sequence[float], y: Sequence[float], *, stepped: bool = False
    ) -> None:
        """A line through points; with `stepped` level until the next one."""
        places = self._places(x, y)
        parts = [f"{'L' if at else 'M'}{_px(a)} {_px(b)}" for at, (a, b) in enumerate(places)]
        if stepped:
            parts = parts[:1] + [f"H{_px(a)}V{_px(b)}" for a, b in places[1:]]
        self._put(f"line {css}", "".join(parts))

    def band(
        self, css: str, x: Sequence[float], low: Sequence[float], high: Sequence[float]
    ) -> None:
        """The area between two lines, as far as it is inside the panel."""
        within = (float(np.clip(v, self.y.low, self.y.high)) for v in (*low, *reversed(high)))
        places = self._places([*x, *reversed(x)], list(within))
        parts = [f"{'L' if at else 'M'}{_px(a)} {_px(b)}" for at, (a, b) in enumerate(places)]
        self._put(f"band {css}", "".join(parts) + "z" if parts else "")

    def dots(self, css: str, x: Sequence[float], y: Sequence[float], shape: str) -> None:
        """A symbol at each point."""
        self._put(
            f"dot {css}", "".join(f"M{_px(a)} {_px(b)}{shape}" for a, b in self._places(x, y))
        )

    def across(self, css: str, y: float) -> None:
        """A line from edge to edge."""
        self.line(css, [self.x.low, self.x.high], [y, y])

    def upright(self, css: str, x: float) -> None:
        """A line from bottom to top."""
        self.line(css, [x, x], [self.y.low, self.y.high])

    def area(self, css: str, x: Limits, y: Limits | None = None) -> None:
        """A shaded rectangle, of the whole height without `y`."""
        left, right = (float(np.clip(end, self.x.low, self.x.high)) for end in x)
        low, high = y or (self.y.low, self.y.high)
        self.band(css, [left, right], [low, low], [high, high])

    def words(self, css: str, x: float, y: float, text: str) -> None:
        scale = self._scale
        self._labels.append(Label(css, _px(scale.across(x)), _px(scale.up(y)), text))

    def hover(self, points: Hovered) -> None:
        if len(points.x):
            self._hovered.append(points)

    @property
    def _scale(self) -> _Scale:
        return _Scale(self.x, self.y, self.left, self.height)

    def _places(self, x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
        scale = self._scale
        return [
            (scale.across(a), scale.up(b))
            for a, b in zip(x, y, strict=True)
            if math.isfinite(a) and math.isfinite(b)
        ]

    def _put(self, css: str, path: str) -> None:
        if path:
            self._marks.append(Mark(css, path))


def css(slot: int) -> str:
    """The classes of a series: its colour, and itself, by which a reader sets it apart."""
    return f"s{slot % SLOTS} k{slot}"


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]


def _series(one: Hovered) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": one.name,
        "slot": one.slot,
        "x": [_short(v) for v in one.x],
        "y": [_short(v) for v in one.y],
    }
    if one.steps is not None:
        values["step"] = [_short(v) for v in one.steps]
    if one.words is not None:
        values["words"] = list(one.words)
    return values


def _short(value: float) -> float | None:
    """The value in few digits; None where it is not finite, as JSON has none."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) and abs(short) < 1e9 else short


def _px(value: float) -> float:
    """To a tenth; far outside the panel nothing is seen."""
    short = round(min(max(value, -2000.0), 2000.0), 1)
    return int(short) if short == int(short) else short
