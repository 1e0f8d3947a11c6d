"""The canvas that figures share: style, grid of panels, legend, labels, repeatable bytes.

Matplotlib is loaded by the first function here that draws, so that choosing what to draw does not
wait for it. Only figure objects are used, no global plotting state; settings hold inside `styled`
alone. Text is drawn as it stands, never read as a formula.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from harness.law.results import Floats
from harness.utils.safe_text import escaped, shortened, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

LONGEST_NAME, LONGEST_GROUP = 32, 60
"""Characters of a run's and of a group's entry in a legend."""
FEW_SHARED = 4
"""Characters kept of what all labels begin or end with."""
TIE = "\u00a0"
"""A blank at which no line breaks."""
FONT = "DejaVu Sans"
"""Comes with matplotlib, so that a figure is the same on every machine."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
"""Okabe and Ito's colours that colour-blind readers tell apart, without the yellow: too pale."""
MARKERS = ("o", "s", "^", "D", "v")
"""Five beside seven colours: 35 pairs before one repeats."""
GREY = "#8a8a8a"
INK = "#333333"
MOST_COLUMNS = 4
PANEL_WIDTH, LONE_WIDTH = 3.6, 6.0
"""Inches of a panel beside others, and of one alone."""
LINE_HEIGHT = 0.19
"""Inches of a line of text."""
CHARACTERS_AN_INCH = 13.5
DOTS_PER_INCH = 150
KINDS = ("png", "svg")
"""Formats of pictures: each figure is written in both."""
STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.hashsalt": "harness",
    "font.family": FONT,
    "font.size": 9,
    "axes.titlesize": 9.5,
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
    "lines.linewidth": 1.6,
    "lines.markersize": 3.6,
}


Limits = tuple[float, float]
Legend: TypeAlias = "dict[str, Line2D | Patch]"
"""Text -> its symbol, in the order of the legend."""


@dataclass(frozen=True)
class Drawing:
    """A figure and the numbers it shows."""

    name: str
    """File name without its ending."""
    figure: Figure
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults and STYLE, whatever the user's own settings are."""
    from harness.report.figures.matplotlib_loader import mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def image(figure: Figure, kind: str) -> bytes:
    """The figure as png or svg, without dates or versions: the same bytes every time.

    Those of figure.savefig, which draws a figure once more than this, to lay it out. A second image
    of a figure is laid out as the first was.
    """
    from harness.report.figures.matplotlib_loader import CANVASES

    file = io.BytesIO()
    silent = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    with styled():
        figure.set_dpi(DOTS_PER_INCH)
        getattr(CANVASES[kind](figure), f"print_{kind}")(file, metadata=silent[kind])
        figure.set_layout_engine("none")
    return file.getvalue()


@dataclass(frozen=True)
class Grid:
    """A figure and the axes of each panel, from top to bottom."""

    figure: Figure
    panels: tuple[tuple[Axes, ...], ...]
    columns: int

    def leftmost(self, position: int) -> bool:
        """Whether panel number `position` stands at the left edge, where labels go."""
        return position % self.columns == 0


def grid(
    heading: str,
    titles: Sequence[str],
    rows_each: int,
    row_height: float,
    names: Sequence[str] = (),
) -> Grid:
    """One panel of `rows_each` axes a title, at most MOST_COLUMNS side by side; more go below.

    `row_height` in inches. The figure grows by what headings, titles and `names` take, which stand
    left of the leftmost panels; the axes do not.
    """
    from harness.report.figures import matplotlib_loader

    blocks = math.ceil(len(titles) / MOST_COLUMNS)
    columns = math.ceil(len(titles) / blocks)
    width = PANEL_WIDTH if columns > 1 else LONE_WIDTH
    wrapped_titles = [wrapped(title, int(width * CHARACTERS_AN_INCH) - 6) for title in titles]
    above = wrapped(heading, int(columns * width * CHARACTERS_AN_INCH * 0.8))
    lines = blocks * max(t.count("\n") + 1 for t in wrapped_titles) + 1.4 * (above.count("\n") + 1)
    height = blocks * (rows_each * row_height + 0.45) + lines * LINE_HEIGHT
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    across = columns * width + longest / CHARACTERS_AN_INCH
    figure = matplotlib_loader.NotebookFigure(figsize=(across, height), layout="constrained")
    matplotlib_loader.FigureCanvasAgg(figure)
    axes = figure.subplots(blocks * rows_each, columns, squeeze=False)
    figure.suptitle(above, x=0.01, ha="left", fontsize=11, color=INK)
    taken = [
        tuple(axes[block * rows_each + row][column] for row in range(rows_each))
        for block in range(blocks)
        for column in range(columns)
    ]
    for spare in itertools.chain.from_iterable(taken[len(titles) :]):
        spare.remove()
    for panel, title in zip(taken, wrapped_titles, strict=False):
        panel[0].set_title(title, color=INK)
    return Grid(figure, tuple(taken[: len(titles)]), columns)


def title(level: str, finding: str) -> str:
    """`easy: ceiling 0.81 [0.78, 0.84], law holds`."""
    return f"{label(level)}: {finding}"


def legend(figure: Figure, entries: Legend) -> None:
    """One legend below all panels, in as many columns as its words leave room for."""
    longest = max(map(len, entries))
    fitting = int(figure.get_figwidth() * CHARACTERS_AN_INCH / (longest + 8))
    columns = min(max(fitting, 1), len(entries))
    lines = math.ceil(len(entries) / columns)
    figure.set_figheight(figure.get_figheight() + lines * LINE_HEIGHT + 0.1)
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower left", ncols=columns
    )  # fmt: skip


def line(**style: Any) -> Line2D:
    """A symbol of the legend: a line, or a marker with `ls=""`."""
    from harness.report.figures.matplotlib_loader import Line2D

    return Line2D([], [], **style)


def patch(**style: Any) -> Patch:
    """A symbol of the legend: a filled area."""
    from harness.report.figures.matplotlib_loader import Patch

    return Patch(**style)


def colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]


def limits(values: Sequence[Floats], margin: float = 0.06) -> Limits:
    """Axis limits round all finite `values`, with some air; (0, 1) if there are none."""
    joined = np.concatenate([*values, np.empty(0)])
    joined = joined[np.isfinite(joined)]
    if not len(joined):
        return 0.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    air = margin * (high - low) or max(abs(high), 1.0) * margin
    return low - air, high + air


def label(value: object, most: int = LONGEST_NAME) -> str:
    """`value` on one line of at most `most` characters, all of which the font can draw."""
    drawable = _drawable()
    text = visible(str(value))
    return shortened("".join(c if ord(c) in drawable else escaped(c) for c in text), most)


def labels(values: Iterable[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Each value's label, no two alike: where shortening would make them so, without what all begin
    and end with.
    """
    names = list(dict.fromkeys(values))
    found = {name: label(name, most) for name in names}
    if len(set(found.values())) == len(names):
        return found
    start = _shared(names)
    end = max(_shared([name[start:][::-1] for name in names]) - FEW_SHARED, 0)
    start = max(start - FEW_SHARED, 0)
    before, after = "..." if start else "", "..." if end else ""
    room = most - len(before) - len(after)
    found = {n: f"{before}{label(n[start : len(n) - end], room)}{after}" for n in names}
    if len(set(found.values())) == len(names):
        return found
    return {name: f"{number}: {found[name]}" for number, name in enumerate(names, 1)}


def _shared(names: Sequence[str]) -> int:
    """How many characters all begin with."""
    alike = (len(set(characters)) == 1 for characters in zip(*names, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, alike))


def wrapped(sentence: str, width: int) -> str:
    """Our own sentence in lines of at most `width` characters; `[a, b]` and `in 3` stay whole."""
    kept = re.sub(r"\[[^][ ]+ [^][ ]+\]|\b(in|of|all|step) \d+", _tied, sentence)
    lines = textwrap.wrap(kept, width, break_on_hyphens=False)
    return "\n".join(lines).replace(TIE, " ")


def _tied(match: re.Match[str]) -> str:
    return match[0].replace(" ", TIE)


@functools.cache
def _drawable() -> frozenset[int]:
    from harness.report.figures.matplotlib_loader import FT2Font, font_manager

    return frozenset(FT2Font(font_manager.findfont(FONT)).get_charmap())
