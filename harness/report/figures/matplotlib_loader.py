"""Load matplotlib without the settings it would read from the current folder.

Only this module imports it. A matplotlibrc next to somebody's logs would change every figure, and a
pipe of that name would block. The user's own settings, in the home folder or at $MATPLOTLIBRC, are
read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = [
    "CANVASES",
    "FT2Font",
    "Figure",
    "FigureCanvasAgg",
    "Line2D",
    "Patch",
    "font_manager",
    "mpl",
]


@contextlib.contextmanager
def in_root_folder() -> Iterator[None]:
    """Make the root the current folder inside the context, where others cannot put a file."""
    try:
        descriptor = os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # deleted or unreadable: matplotlib finds no settings there either
        yield
        return
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(descriptor)
        os.close(descriptor)


with in_root_folder():
    import matplotlib as mpl  # it reads its settings only while it is imported
    from matplotlib import font_manager
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

CANVASES = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG, "pdf": FigureCanvasPdf}
