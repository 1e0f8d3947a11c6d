"""What is drawn in a panel of a figure, by its marks."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from harness.report.figures.palette import OPEN_ARROWS


def arrows(axes: Axes) -> dict[str, tuple[float, float]]:
    """Head of each open arrow -> where it stands."""
    heads = {str([*verts]): head for head, verts in OPEN_ARROWS.items()}
    found = [line for line in axes.lines if str(line.get_marker()) in heads]
    return {
        heads[str(line.get_marker())]: (
            float(np.asarray(line.get_xdata())[0]), float(np.asarray(line.get_ydata())[0])
        )
        for line in found
    }  # fmt: skip
