"""The figure class of harness. Importing this module loads matplotlib."""

from __future__ import annotations

from harness.report.figures.matplotlib_loader import Figure
from harness.report.figures.pictures import image
from harness.report.figures.style import SCREEN, Style


class NotebookFigure(Figure):
    """A figure that notebooks display as a picture."""

    style: Style = SCREEN
    """The style in which it was drawn."""
    sentences: tuple[str, ...] = ()
    """Heading and titles in full, even if they are not drawn."""

    def _repr_png_(self) -> bytes:
        return image(self, "png")
