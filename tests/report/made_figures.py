"""What a drawn figure says: its texts, titles and legends."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text

from harness.law.group_results import Analysis
from harness.report.figures import registry
from harness.report.figures.canvas import Drawing


def drawn(analysis: Analysis, every_run: bool = False) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in registry.draw(analysis, every_run)}


def titles(drawing: Drawing) -> list[str]:
    found = [axes.get_title(loc="left").replace("\n", " ") for axes in drawing.figure.axes]
    return [title for title in found if title]


def legend(drawing: Drawing) -> list[str]:
    return [text.get_text() for box in drawing.figure.legends for text in box.get_texts()]


def texts(figure: Figure) -> list[Text]:
    """All text that is drawn; ticks beyond the limits exist, and are not."""
    found = [t for t in figure.findobj(Text) if isinstance(t, Text)]
    unseen = {
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not axis.get_view_interval()[0] <= tick.get_loc() <= axis.get_view_interval()[1]
    }
    return [t for t in found if t.get_visible() and t.get_text().strip() and t not in unseen]
