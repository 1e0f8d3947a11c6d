"""The two styles of figures: for a screen, with findings as titles; for a paper, at its width.

A style holds while figures are drawn inside `styled`, as matplotlib's own settings do, so that no
figure has to be told which it is drawn in.
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
"""Comes with matplotlib, so that a figure is the same on every machine."""
COLUMN_WIDTH = 3.3
"""Inches of a column of a two-column page."""
LEAST_POINTS = 7.0
"""Size of the smallest text of a paper's figure, as printed."""
PICTURES = ("png", "svg", "pdf")
TRUE_TYPE = 42
"""Fonts are embedded in a PDF as they are, as publishers ask: text stays text."""
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
    """Kinds of pictures that are written unless others are asked for."""
    width: float | None
    """Of the whole figure; None where it grows with its panels."""
    most_columns: int
    """Panels side by side."""
    panel_width: float
    """Of a panel beside others."""
    lone_width: float
    height: float
    """Share of the height of a panel on a screen."""
    line_height: float
    """Of a line of text."""
    characters_an_inch: float
    name_width: int
    """Characters of a line of a name on an axis."""
    most_ticks: int
    """Steps of a narrow axis."""
    has_headings: bool
    """Whether heading and findings stand above the panels; otherwise they are the caption."""
    marks: float
    """Size of symbols as a share of those on a screen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of matplotlib."""

    def characters(self, inches: float) -> int:
        """How many fit."""
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
    """The style that is drawn in."""
    return _current.get()


@contextlib.contextmanager
def styled(style: Style = SCREEN) -> Iterator[None]:
    """Matplotlib's defaults and the style, whatever the user's own settings are."""
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
    """Inches (of a screen's panel) that `rows` rows need, so that no name of theirs reaches into
    the next: `grid` takes them by the style's share.
    """
    style = current()
    lines = max((name.count("\n") + 1 for name in names), default=1)
    needed = (lines * style.line_height * 0.8 + 0.04) / style.height
    return math.ceil(100 * (rows * max(row, needed) + around)) / 100
