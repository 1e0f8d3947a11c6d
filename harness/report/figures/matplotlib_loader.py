"""Load matplotlib, here alone, without the settings it would read from the current folder.

A matplotlibrc beside somebody's logs would change every figure, and a pipe in its place would be
waited for. Those of the user's own, in the home folder or at $MATPLOTLIBRC, count.
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
def elsewhere() -> Iterator[None]:
    """Meanwhile the current folder is the root, where nobody else can put a file."""
    try:
        here = os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # gone, or not to be read: nothing of it is found either
        yield
        return
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)


with elsewhere():
    import matplotlib as mpl  # it reads its settings as it is loaded, and only then
    from matplotlib import font_manager
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

CANVASES = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG, "pdf": FigureCanvasPdf}
