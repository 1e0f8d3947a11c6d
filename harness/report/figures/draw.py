"""Draws the sketches of an analysis (sketches.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.law.group_results import Analysis
from harness.report.figures import canvas, curves, difficulty, forest, groups, law, residuals
from harness.report.figures.canvas import AxisNames, Drawing
from harness.report.figures.clock import SHARE, STEP
from harness.report.figures.figure_specs import (
    CURVES,
    LAW,
    RESIDUALS,
    Measured,
    Sketch,
    Unread,
    sketches,
)
from harness.report.figures.figure_text import label
from harness.report.text.wording import plural

OF_RUNS = {LAW: law.draw, CURVES: curves.draw, RESIDUALS: residuals.draw}
OF_POOLS = {
    LAW: groups.draw_law,
    CURVES: groups.draw_curves,
    RESIDUALS: residuals.draw_pools,
}
HEADINGS = {
    LAW: law.HEADING,
    CURVES: curves.HEADING,
    RESIDUALS: residuals.HEADING,
}

TIMES = {STEP: "step", SHARE: "share of each run's own steps"}


def draw(analysis: Analysis, every_run: bool) -> list[Drawing]:
    """All figures of an analysis."""
    return [drawn(sketch) for sketch in sketches(analysis, every_run)]


def drawn(sketch: Sketch) -> Drawing:
    with canvas.styled():
        names = _axis_names(sketch.measured)
        if sketch.groups:
            return forest.draw(sketch.groups, sketch.name)
        if sketch.marks:
            return difficulty.draw(sketch.marks, sketch.name)
        if sketch.pools:
            drawing = OF_POOLS[sketch.kind](sketch.pools, sketch.name, names)
        elif sketch.panels:
            drawing = OF_RUNS[sketch.kind](sketch.panels, sketch.name, names)
        else:
            return _empty(sketch.unread, sketch.name)
    return drawing if sketch.measured.time == STEP else _in_shares(drawing)


def _in_shares(drawing: Drawing) -> Drawing:
    """The numbers under the name of what they are."""
    named = {STEP: SHARE}
    rows = (
        {named.get(name, name): SHARE if value == STEP else value for name, value in row.items()}
        for row in drawing.rows
    )
    columns = tuple(named.get(name, name) for name in drawing.columns)
    return replace(drawing, columns=columns, rows=tuple(rows))


def _axis_names(measured: Measured) -> AxisNames:
    """The axes' labels with units; what differs between the runs is left out."""
    unit = {"tabular": " per act", None: ""}.get(measured.policy, " per token")
    reward = f" ({label(measured.reward)})" if measured.reward else ""
    return AxisNames(
        f"policy entropy H (nats{unit})", f"empathy reward R{reward}", TIMES[measured.time]
    )


def _empty(unread: Sequence[Unread], name: str) -> Drawing:
    """A picture that says why there is none."""
    reasons = [run.reason for run in unread if run.reason is not None]
    first = f" The first: {label(reasons[0], 200)}" if reasons else ""
    sentence = f"Nothing to draw: of {plural(len(unread), 'run')}, none could be read.{first}"
    grid = canvas.grid(HEADINGS[name], [sentence], 1, 0.2)
    grid.panels[0][0].set_axis_off()
    rows = tuple({"run": run.run, "reason": run.reason} for run in unread)
    return Drawing(name, grid.figure, ("run", "reason"), rows)
