"""The canvas that figures share: grid of panels, legend, symbols.

Matplotlib is loaded by the first function here that draws, so that choosing what to draw does not
wait for it. Only figure objects are used, no global plotting state; settings hold only inside
`use_style`. Text is drawn literally, never parsed as a formula.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.report.figures import style
from harness.report.figures.labels import LONGEST_GROUP as LONGEST_GROUP
from harness.report.figures.labels import label as label
from harness.report.figures.labels import labels as labels
from harness.report.figures.labels import wrap as wrap
from harness.report.figures.palette import COLOURS as COLOURS
from harness.report.figures.palette import GREY as GREY
from harness.report.figures.palette import INK as INK
from harness.report.figures.palette import MARKERS as MARKERS
from harness.report.figures.palette import Dashes as Dashes
from harness.report.figures.palette import colour as colour
from harness.report.figures.palette import dashes as dashes
from harness.report.figures.palette import marker as marker
from harness.report.figures.pictures import DOTS_PER_INCH as DOTS_PER_INCH
from harness.report.figures.pictures import KINDS as KINDS
from harness.report.figures.pictures import caption as caption
from harness.report.figures.pictures import image as image
from harness.report.figures.ranges import Limits as Limits
from harness.report.figures.ranges import limits as limits
from harness.report.figures.style import use_style as use_style
from harness.utils.safe_text import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from harness.report.figures.notebook_figure import NotebookFigure

BETWEEN, SIDES, LEGEND_SYMBOL = 0.45, 0.3, 8
"""Inches of ticks and labels below a block and beside a panel; characters of a symbol."""
ABOVE = 1.4
"""Height of a line of the heading, in lines of text."""
STEP = "step"
"""Label of an axis of steps."""
Legend: TypeAlias = "dict[str, Line2D | Patch]"
"""Text -> its symbol, in the order of the legend."""


@dataclass(frozen=True)
class Drawing:
    """A figure and its numbers."""

    name: str
    """File name without its extension."""
    figure: Figure
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Title:
    """The subject of a panel, and the finding."""

    of: str
    finding: str

    def __str__(self) -> str:
        return f"{self.of}: {self.finding}"


@dataclass(frozen=True)
class PanelGrid:
    """A figure and the axes of each panel, from top to bottom."""

    figure: Figure
    panels: tuple[tuple[Axes, ...], ...]
    columns: int
    panel_width: float
    """Inches, including the space beside the axes."""
    row_height: float
    """Inches of the axes."""

    def leftmost(self, position: int) -> bool:
        """Return whether panel number `position` is at the left edge, which has the labels."""
        return position % self.columns == 0

    def label_x(self, axes: Axes, words: str) -> None:
        """Label the axis; wrap each line of `words` as needed. Steps get whole ticks."""
        if words == STEP:
            axes.locator_params(axis="x", integer=True)
        characters = style.current().characters(1.25 * self.panel_width - SIDES)
        axes.set_xlabel("\n".join(_label_lines(line, characters) for line in words.split("\n")))

    def label_y(self, axes: Axes, words: str) -> None:
        """Label the axis; wrap the words as needed."""
        axes.set_ylabel(_label_lines(words, style.current().characters(1.15 * self.row_height)))


def _label_lines(words: str, width: int) -> str:
    """Wrap a label. If it is too long for a line, its part in brackets begins a new one."""
    if len(words) <= width:
        return words
    name, bracket, unit = words.partition(" (")
    parts = [wrap(name, width), *([wrap(f"({unit}", width)] if bracket else [])]
    return "\n".join(parts)


def grid(
    heading: str,
    titles: Sequence[str | Title],
    rows_each: int,
    row_height: float,
    names: Sequence[str] = (),
    is_stacked: bool = False,
) -> PanelGrid:
    """Return a panel of `rows_each` axes per title, in as few blocks as the style's width allows.

    `row_height` is in inches on a screen. The figure grows to make room for headings, titles and
    `names`, which are to the left of the leftmost panels; the size of the axes does not change. In
    the paper style the heading and the findings become the caption, and the width is that of a
    column. Stacked panels are one below the other.
    """
    current = style.current()
    blocks = math.ceil(len(titles) / (1 if is_stacked else current.most_columns))
    columns = math.ceil(len(titles) / blocks)
    width = current.panel_width if columns > 1 else current.lone_width
    heading_text, panel_titles = _shown_headings(heading, titles, columns * width, width)
    lines: float = blocks * max(title.count("\n") + 1 if title else 0 for title in panel_titles)
    lines += ABOVE * (heading_text.count("\n") + 1) if heading_text else 0
    height = (
        blocks * (rows_each * row_height * current.height + BETWEEN) + lines * current.line_height
    )
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    figure_width = current.width or columns * width + longest / current.characters_an_inch
    figure, panel_axes = _axes(figure_width, height, blocks, rows_each, columns)
    figure.style, figure.sentences = current, tuple(escape(str(t)) for t in (heading, *titles))
    if heading_text:
        figure.suptitle(heading_text, x=0.01, ha="left", color=INK)
    for unused in itertools.chain.from_iterable(panel_axes[len(titles) :]):
        unused.remove()
    for panel, title in zip(panel_axes, panel_titles, strict=False):
        panel[0].set_title(title, color=INK)
    panels = tuple(panel_axes[: len(titles)])
    names_width = longest / current.characters_an_inch
    return PanelGrid(
        figure, panels, columns, (figure_width - names_width) / columns, row_height * current.height
    )


def _shown_headings(
    heading: str, titles: Sequence[str | Title], figure_width: float, width: float
) -> tuple[str, list[str]]:
    """Return the heading and the titles of panels as the style shows them."""
    current = style.current()
    characters = current.characters(width) - 6
    if current.has_headings:
        heading_text = wrap(heading, int(figure_width * current.characters_an_inch * 0.8))
        return heading_text, [wrap(str(title), characters) for title in titles]
    if len(titles) == 1:
        return "", [""]
    subjects = [title.of if isinstance(title, Title) else title for title in titles]
    return "", [wrap(name, characters) for name in subjects]


def _axes(
    figure_width: float, height: float, blocks: int, rows_each: int, columns: int
) -> tuple[NotebookFigure, list[tuple[Axes, ...]]]:
    """Return a figure and its axes, panel by panel."""
    from harness.report.figures.matplotlib_loader import FigureCanvasAgg
    from harness.report.figures.notebook_figure import NotebookFigure

    figure = NotebookFigure(figsize=(figure_width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(blocks * rows_each, columns, squeeze=False)
    return figure, [
        tuple(axes[block * rows_each + row][column] for row in range(rows_each))
        for block in range(blocks)
        for column in range(columns)
    ]


def title(level: str, finding: str) -> Title:
    """Return the title `easy: ceiling 0.81 [0.78, 0.84], law holds`."""
    return Title(label(level, LONGEST_GROUP), finding)


def series_entries(series: Iterable[tuple[str, int]], **properties: Any) -> Legend:
    """Return an entry per name of a series, in the order of their slots, which give the symbols."""
    slots = dict(sorted(series, key=lambda item: item[1]))
    texts = labels(slots)
    return {
        texts[name]: line(color=colour(slot), marker=marker(slot), **properties)
        for name, slot in slots.items()
    }


def symbol_size(points: float) -> float:
    """Return the size of a symbol in the current style."""
    return points * style.current().marks


def legend(figure: Figure, entries: Legend) -> None:
    """Add one legend below all panels, in as many columns as fit."""
    current = style.current()
    characters = current.characters(figure.get_figwidth())
    words = [wrap(entry, characters - LEGEND_SYMBOL) for entry in entries]
    columns = next(
        n for n in range(len(words), 0, -1) if n == 1 or _legend_width(words, n) <= characters
    )
    lines = max(sum(entry.count("\n") + 1 for entry in part) for part in _split(words, columns))
    figure.set_figheight(figure.get_figheight() + lines * current.line_height + 0.1)
    figure.legend(list(entries.values()), words, loc="outside lower left", ncols=columns)


def _legend_width(words: Sequence[str], columns: int) -> int:
    """Return the width of a legend with this number of columns, in characters."""
    parts = _split(words, columns)
    longest = (max(len(line) for word in part for line in word.split("\n")) for part in parts)
    return sum(longest) + LEGEND_SYMBOL * columns


def _split(words: Sequence[str], columns: int) -> list[Sequence[str]]:
    """Split entries as matplotlib fills a legend: top to bottom, the first columns one longer."""
    height, longer = divmod(len(words), columns)
    ends = itertools.accumulate(height + (n < longer) for n in range(columns))
    return [words[end - height - (n < longer) : end] for n, end in enumerate(ends)]


def limit_ticks(axes: Axes) -> None:
    """Limit the ticks on the x axis to the number that fits."""
    axes.locator_params(axis="x", nbins=style.current().most_ticks)


def line(**properties: Any) -> Line2D:
    """Return a symbol for the legend: a line, or a marker with `ls=""`."""
    from harness.report.figures.matplotlib_loader import Line2D

    return Line2D([], [], **properties)


def patch(**properties: Any) -> Patch:
    """Return a symbol for the legend: a filled area."""
    from harness.report.figures.matplotlib_loader import Patch

    return Patch(**properties)
