"""Where collapse begins, against how demanding the level measurably is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing, colour, marker
from harness.report.figures.difficulties import Mark
from harness.report.figures.figure_text import label

MEASURES = {
    "acceptance": "acceptance of fixed replies",
    "need_expression": "need expression",
    "population_final_emotion": "mean final emotion of supporters that never learn",
}
COLUMNS = (
    "measure", "run", "level", "null_control", "difficulty", "difficulty_low", "difficulty_high",
    "onset_share", "onset_low", "onset_high",
)  # fmt: skip
HEADING = "Onset of collapse against measured difficulty: harder to the left"
NO_ONSET = 1.04
"""Where runs without an onset stand, above the end of the run."""
APART = 0.02
"""Of runs of one level, as a share of the axis."""


def draw(marks: Sequence[Mark], name: str) -> Drawing:
    """One panel a measure; a run is a point, null controls are hollow."""
    easiest_first = sorted(marks, key=lambda m: -m.difficulty["population_final_emotion"].value)
    levels = list(dict.fromkeys(mark.level for mark in easiest_first))
    grid = canvas.grid(HEADING, list(MEASURES.values()), 1, 3.0)
    for position, (measure, (axes,)) in enumerate(zip(MEASURES, grid.panels, strict=True)):
        _panel(axes, marks, measure, levels)
        if grid.leftmost(position):
            axes.set_ylabel("onset, share of the run")
    canvas.legend(grid.figure, _entries(levels, marks))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(marks)))


def _panel(axes: Axes, marks: Sequence[Mark], measure: str, levels: Sequence[str]) -> None:
    measured = [mark.difficulty[measure] for mark in marks]
    values = [end for interval in measured for end in (interval.low, interval.high)]
    low, high = canvas.limits([np.array(values)])
    for mark in marks:
        slot, found = levels.index(mark.level), mark.difficulty[measure]
        alike = [other for other in marks if other.level == mark.level]
        shift = (alike.index(mark) - (len(alike) - 1) / 2) * APART * (high - low)
        at, height = found.value + shift, NO_ONSET if mark.onset is None else mark.onset
        filled = "none" if mark.null_control else colour(slot)
        axes.plot([found.low, found.high], [height] * 2, color=colour(slot), lw=0.6, alpha=0.5)
        if mark.low is not None and mark.high is not None:
            axes.plot([at, at], [mark.low, mark.high], color=colour(slot), lw=1)
        axes.plot(at, height, marker(slot), mfc=filled, mec=colour(slot), ms=5)
    axes.axhline(1, color=canvas.GREY, lw=0.8, ls=":")
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, NO_ONSET], ["0", "0.25", "0.5", "0.75", "none"])
    axes.locator_params(axis="x", nbins=5)


def _entries(levels: Sequence[str], marks: Sequence[Mark]) -> dict[str, Line2D]:
    found = {
        label(level): Line2D([], [], ls="", marker=marker(slot), color=colour(slot))
        for slot, level in enumerate(levels)
    }
    if any(mark.null_control for mark in marks):
        found["null control"] = Line2D([], [], ls="", marker="o", mfc="none", mec=canvas.INK)
    return found


def _rows(marks: Sequence[Mark]) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        for mark in marks:
            value = mark.difficulty[measure]
            yield {
                "measure": measure,
                "run": mark.run,
                "level": mark.level,
                "null_control": mark.null_control,
                "difficulty": value.value,
                "difficulty_low": value.low,
                "difficulty_high": value.high,
                "onset_share": mark.onset,
                "onset_low": mark.low,
                "onset_high": mark.high,
            }
