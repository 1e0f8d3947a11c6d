"""The two styles of figures: for a screen, with findings as titles; for a paper, at its width.

A style is active inside `use_style`, like matplotlib's own settings, so that it need not be
passed to figures.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from harness.report.figures.palette import GREY, INK

FONT = "DejaVu Sans"
"""Part of matplotlib, so that a figure is the same on every machine."""
COLUMN_WIDTH = 3.3
"""Width of a column of a two-column page, in inches."""
LEAST_POINTS = 7.0
"""Size of the smallest text of a paper's figure, as printed."""
PICTURES = ("png", "svg", "pdf")
TRUE_TYPE = 42
"""Embed TrueType fonts in a PDF, as publishers require, so that text remains text."""
_COMMON: Mapping[str, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "harness",
    "pdf.fonttype": TRUE_TYPE,
    "font.family": FONT,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Style:
    """Sizes of a figure, in inches and in points."""

    name: str
    pictures: tuple[str, ...]
    """Formats of pictures that are written by default."""
    width: float | None
    """Width of the whole figure; None if it grows with its panels."""
    most_columns: int
    """The most panels side by side."""
    panel_width: float
    """Width of a panel that has others beside it."""
    lone_width: float
    height: float
    """Height of a panel, relative to that on a screen."""
    line_height: float
    """Height of a line of text."""
    characters_an_inch: float
    name_width: int
    """The most characters of a line of a name on an axis."""
    most_ticks: int
    """The most intervals between ticks on a narrow axis."""
    has_headings: bool
    """True if heading and findings are above the panels; otherwise they are the caption."""
    marks: float
    """Size of symbols, relative to those on a screen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of matplotlib."""

    def characters(self, inches: float) -> int:
        """Return how many characters fit."""
        return max(int(inches * self.characters_an_inch), 8)


SCREEN = Style(
    "screen", ("png", "svg"), None, 4, 3.6, 6.0, 1.0, 0.19, 13.5, 34, 5, True, 1.0,
    {
        **_COMMON, "font.size": 9, "axes.titlesize": 9.5, "figure.titlesize": 11,
        "lines.linewidth": 1.6, "lines.markersize": 3.6,
    },
)  # fmt: skip
PAPER = Style(
    "paper", ("pdf",), COLUMN_WIDTH, 2, COLUMN_WIDTH / 2, COLUMN_WIDTH, 0.46, 0.135, 17.5, 20,
    3, False, 0.7,
    {
        **_COMMON, "font.size": LEAST_POINTS, "axes.titlesize": LEAST_POINTS,
        "axes.labelsize": LEAST_POINTS, "xtick.labelsize": LEAST_POINTS,
        "ytick.labelsize": LEAST_POINTS, "legend.fontsize": LEAST_POINTS,
        "lines.linewidth": 1.1, "lines.markersize": 2.5, "axes.linewidth": 0.6,
        "axes.labelpad": 2.0, "axes.titlepad": 3.0, "xtick.major.size": 2.0,
        "ytick.major.size": 2.0, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
        "xtick.major.pad": 2.0, "ytick.major.pad": 2.0, "grid.linewidth": 0.4,
        "legend.handlelength": 1.6, "legend.columnspacing": 1.0, "legend.handletextpad": 0.5,
        "legend.labelspacing": 0.3, "legend.borderpad": 0.1,
    },
)  # fmt: skip
STYLES = {style.name: style for style in (SCREEN, PAPER)}
_current: ContextVar[Style] = ContextVar("style", default=SCREEN)


def current() -> Style:
    """Return the active style."""
    return _current.get()


@contextlib.contextmanager
def use_style(style: Style = SCREEN) -> Iterator[None]:
    """Activate the style on top of matplotlib's defaults, ignoring the user's own settings."""
    from harness.report.figures.matplotlib_loader import mpl

    token = _current.set(style)
    try:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(dict[Any, Any](style.settings))
            yield
    finally:
        _current.reset(token)


def rows_height(rows: int, row: float, around: float, names: tuple[str, ...] = ()) -> float:
    """Return the height of `rows` rows in inches on a screen, so that their names do not overlap.

    `grid` converts it to the current style.
    """
    style = current()
    lines = max((name.count("\n") + 1 for name in names), default=1)
    needed = (lines * style.line_height * 0.8 + 0.04) / style.height
    return math.ceil(100 * (rows * max(row, needed) + around)) / 100
