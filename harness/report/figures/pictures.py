"""A figure as a reproducible picture, and its caption."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150
KINDS = style.PICTURES
"""Formats of pictures."""
_SILENT: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata to omit, since it would change with the date or the version."""


def image(figure: Figure, kind: str) -> bytes:
    """Return the figure as one of KINDS, without dates or versions: the same bytes every time.

    These are the bytes of figure.savefig, which draws a figure once more to lay it out. A second
    image of a figure has the layout of the first.
    """
    from harness.report.figures.matplotlib_loader import CANVASES

    file = io.BytesIO()
    with style.use_style(getattr(figure, "style", style.SCREEN)):
        figure.set_dpi(DOTS_PER_INCH)
        getattr(CANVASES[kind](figure), f"print_{kind}")(file, metadata=_SILENT[kind])
        figure.set_layout_engine("none")
    return file.getvalue()


def caption(figure: Figure) -> str:
    """Return heading and findings as sentences, for a figure without headings."""
    sentences: Sequence[str] = getattr(figure, "sentences", ())
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)
