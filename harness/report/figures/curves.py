"""H and R against time: one column a level, runs overlaid, the onset with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.law.results import Floats
from harness.report.figures import canvas
from harness.report.figures.canvas import AxisNames, Drawing, Limits
from harness.report.figures.figure_text import label
from harness.report.figures.run_series import Panel, Trace

COLUMNS = ("level", "run", "kind", "step", "low", "high", "entropy", "reward")


HEADING = "Entropy H and reward R over training, with the onset of collapse"
ROW_HEIGHT = 2.1
"""Inches."""
DASHES = (0, (4, 2))
SLICE, ALL_SLICES = 0.06, 0.4
"""Share of the height that the interval of one of several onsets takes, and most for all."""


def draw(panels: Sequence[Panel], name: str, names: AxisNames) -> Drawing:
    """One column a level: H above, R below."""
    titles = [canvas.title(panel.level, panel.onset_finding) for panel in panels]
    grid = canvas.grid(HEADING, titles, 2, ROW_HEIGHT)
    traces = [trace for panel in panels for trace in panel.traces]
    shared = frame(
        [trace.course.steps for trace in traces],
        [trace.course.entropy for trace in traces],
        [trace.points.reward for trace in traces],
    )
    for position, (panel, pair) in enumerate(zip(panels, grid.panels, strict=True)):
        top, bottom = pair
        for trace in panel.traces:
            _line(top, trace, trace.course.steps, trace.course.entropy)
            _line(bottom, trace, trace.points.steps, trace.points.reward)
        for axes in pair:
            _onsets(axes, [trace for trace in panel.traces if trace.onset is not None])
        dress(top, bottom, shared, names, grid.leftmost(position))
    canvas.legend(grid.figure, _entries(panels))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def frame(
    steps: Sequence[Floats], entropy: Sequence[Floats], reward: Sequence[Floats]
) -> tuple[Limits, Limits, Limits]:
    """Limits of step, H and R that all panels share."""
    return canvas.limits(steps, 0.02), canvas.limits(entropy), canvas.limits(reward)


def dress(
    top: Axes, bottom: Axes, shared: tuple[Limits, Limits, Limits], names: AxisNames, leftmost: bool
) -> None:
    """Limits and labels of a column."""
    steps, entropy, reward = shared
    top.set(xlim=steps, ylim=entropy)
    bottom.set(xlim=steps, ylim=reward, xlabel=names.time)
    top.tick_params(labelbottom=False)
    for axes in (top, bottom):
        axes.tick_params(labelleft=leftmost)
    if leftmost:
        top.set_ylabel(names.entropy)
        bottom.set_ylabel(names.reward)


def _line(axes: Axes, trace: Trace, steps: Floats, values: Floats) -> None:
    axes.plot(
        steps, values, "-", marker=canvas.marker(trace.slot),
        color=canvas.colour(trace.slot), lw=1.2, ms=2.6, mew=0, alpha=0.85,
    )  # fmt: skip


def _onsets(axes: Axes, traces: Sequence[Trace]) -> None:
    """A dashed line at each onset; its interval shaded, in slices from the top if several."""
    height = min(SLICE, ALL_SLICES / max(len(traces), 1)) if len(traces) > 1 else 1.0
    alpha = 0.35 if len(traces) > 1 else 0.13
    for place, trace in enumerate(traces):
        assert trace.onset is not None
        colour = canvas.colour(trace.slot)
        axes.axvline(trace.onset.step, color=colour, ls=DASHES, lw=1.3, zorder=1)
        top = 1 - place * height
        axes.axvspan(
            trace.onset.low, trace.onset.high, top - height, top, color=colour, alpha=alpha, lw=0,
            zorder=0,
        )  # fmt: skip


def _entries(panels: Sequence[Panel]) -> dict[str, Line2D | Patch]:
    traces = [trace for panel in panels for trace in panel.traces]
    entries: dict[str, Line2D | Patch] = {}
    for trace in sorted(traces, key=lambda t: t.slot):
        colour, marker = canvas.colour(trace.slot), canvas.marker(trace.slot)
        entries[label(trace.legend)] = Line2D([], [], color=colour, marker=marker, ms=4)
    if any(trace.onset is not None for trace in traces):
        entries["onset"] = Line2D([], [], color=canvas.INK, ls=DASHES)
        entries["its 95% interval"] = Patch(color=canvas.INK, alpha=0.15, lw=0)
    return entries


def _rows(panels: Sequence[Panel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for trace in panel.traces:
            same = {"level": panel.level, "run": trace.run}
            for step, h in zip(trace.course.steps, trace.course.entropy, strict=True):
                yield {**same, "kind": "entropy", "step": step, "entropy": h}
            for step, r in zip(trace.points.steps, trace.points.reward, strict=True):
                yield {**same, "kind": "reward", "step": step, "reward": r}
            if trace.onset is not None:
                onset = trace.onset
                yield {
                    **same, "kind": onset.kind, "step": onset.step,
                    "low": onset.low, "high": onset.high,
                }  # fmt: skip
