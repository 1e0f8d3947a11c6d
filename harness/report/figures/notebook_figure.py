"""The figure that harness draws on. Importing this loads matplotlib."""

from __future__ import annotations

from harness.report.figures.matplotlib_loader import Figure
from harness.report.figures.pictures import image
from harness.report.figures.style import SCREEN, Style


class NotebookFigure(Figure):
    """A figure that a notebook shows as a picture."""

    style: Style = SCREEN
    """The style it was drawn in."""
    sentences: tuple[str, ...] = ()
    """Heading and titles in full, also where they are not drawn."""

    def _repr_png_(self) -> bytes:
        return image(self, "png")
