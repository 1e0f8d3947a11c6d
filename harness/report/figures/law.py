"""R against H with the fitted law: one panel per level, runs overlaid, ceilings at the left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.report.figures import canvas, law_frame, law_groups
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.law_frame import HEADING, ROW_HEIGHT, LawFrame, draw_ceiling
from harness.report.figures.run_series import LawCurve, RunPanel, Trace
from harness.report.figures.series_pages import series_figure

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = ("level", "run", "kind", "step", "entropy", "reward", "low", "high", "identified")
GUESS = (0, (5, 3))
"""Dashes of a curve that is not identified."""
RIVAL: dict[str, Any] = {"ls": (0, (1, 1.5)), "lw": 0.9, "zorder": 2.5}
"""Style of the rival linear in H: thin and dotted."""
PALE = 0.25
"""Opacity of points after the onset, which the law was not judged on."""


def draw(panels: Sequence[RunPanel], name: str, axes: AxisNames) -> Drawing:
    """Draw one panel per level."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(HEADING, titles, 1, ROW_HEIGHT)
    traces = [trace for panel in panels for trace in panel.traces]
    frame = law_frame.frame_of_runs(traces, axes.reward_range)
    has_arrows = False
    for position, (panel, (panel_axes,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for index, trace in enumerate(panel.traces):
            _trace(panel_axes, trace, frame)
            if trace.ceiling is not None:
                slot = trace.slot if trace.ceiling_identified else None
                x = frame.place((index + 1) / (len(panel.traces) + 1))
                has_arrows |= draw_ceiling(panel_axes, x, trace.ceiling, slot, frame)
        law_frame.set_limits_and_labels(grid, position, frame, axes)
    canvas.legend(
        grid.figure, {**_entries(panels), **(law_frame.off_the_scale() if has_arrows else {})}
    )
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def _trace(axes: Axes, trace: Trace, frame: LawFrame) -> None:
    colour, points = canvas.colour(trace.slot), trace.points
    after_onset, unjudged = trace.after_onset, trace.unjudged
    for mask, face, alpha in (
        (~after_onset, colour, 0.5),
        (after_onset & ~unjudged, "none", 0.5),
        (unjudged, "none", PALE),
    ):
        axes.plot(
            points.entropy[mask], points.reward[mask], canvas.marker(trace.slot), mfc=face,
            mec=colour, mew=0.7, alpha=alpha, zorder=2,
        )  # fmt: skip
    if trace.straight is not None:
        axes.plot(trace.straight.entropy, trace.straight.reward, color=colour, **RIVAL)
    if trace.curve is not None:
        _curve(axes, trace.curve, colour, frame)


def _curve(axes: Axes, curve: LawCurve, colour: str, frame: LawFrame) -> None:
    visible = curve.entropy >= frame.left
    entropy, low, high = curve.entropy[visible], curve.low[visible], curve.high[visible]
    style, shade = ("-", 0.18) if curve.identified else (GUESS, 0.07)
    ink = colour if curve.identified else canvas.GREY
    if curve.identified or not law_frame.hides_all(low, high, frame):
        axes.fill_between(entropy, low, high, color=ink, alpha=shade, lw=0, zorder=1.5)
    axes.plot(entropy, curve.reward[visible], ls=style, color=ink, zorder=3)


def _entries(panels: Sequence[RunPanel]) -> canvas.Legend:
    traces = [trace for panel in panels for trace in panel.traces]
    names = ((trace.legend, trace.slot) for trace in traces)
    entries = canvas.series_entries(names, ls="", ms=canvas.symbol_size(5))
    ink = canvas.INK
    hollow: dict[str, Any] = {
        "color": ink,
        "marker": "o",
        "mfc": "none",
        "ls": "",
        "ms": canvas.symbol_size(5),
    }
    if any((trace.after_onset & ~trace.unjudged).any() for trace in traces):
        entries["after the onset"] = canvas.line(**hollow)
    if any(trace.unjudged.any() for trace in traces):
        entries["after the onset, left out of the law"] = canvas.line(**hollow, alpha=PALE)
    curves = [trace.curve.identified for trace in traces if trace.curve is not None]
    if any(curves):
        entries["fitted law"] = canvas.line(color=ink)
        entries["its 95% band"] = canvas.patch(color=ink, alpha=0.18, lw=0)
    if not all(curves):
        entries["law whose a is not identified"] = canvas.line(color=canvas.GREY, ls=GUESS)
    if any(trace.straight is not None for trace in traces):
        entries["rival: linear in H"] = canvas.line(color=ink, **RIVAL)
    ceilings = {trace.ceiling_identified for trace in traces if trace.ceiling is not None}
    if True in ceilings:
        entries["ceiling b - a, 95% interval"] = canvas.line(
            color=ink, marker="D", ms=canvas.symbol_size(5)
        )
    if False in ceilings:
        entries["ceiling not identified"] = canvas.line(
            color=canvas.GREY, marker="D", mfc="white", ms=canvas.symbol_size(5)
        )
    return entries


def _rows(panels: Sequence[RunPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for trace in panel.traces:
            common = {"level": panel.level, "run": trace.run}
            points = trace.points
            for step, h, r in zip(points.steps, points.entropy, points.reward, strict=True):
                yield {**common, "kind": "point", "step": step, "entropy": h, "reward": r}
            if trace.curve is not None:
                yield from _curve_rows(common, trace)
            if trace.straight is not None:
                for h, r in zip(trace.straight.entropy, trace.straight.reward, strict=True):
                    yield {**common, "kind": "linear_in_h", "entropy": h, "reward": r}
            if trace.ceiling is not None:
                yield {
                    **common, "kind": "ceiling", "entropy": 0.0, "reward": trace.ceiling.value,
                    "low": trace.ceiling.low, "high": trace.ceiling.high,
                    "identified": trace.ceiling_identified,
                }  # fmt: skip


def _curve_rows(common: dict[str, Any], trace: Trace) -> Iterator[dict[str, Any]]:
    curve = trace.curve
    assert curve is not None
    kind = "law_until_onset" if trace.until_onset else "law"
    for h, r, low, high in zip(curve.entropy, curve.reward, curve.low, curve.high, strict=True):
        yield {
            **common, "kind": kind, "entropy": h, "reward": r, "low": low, "high": high,
            "identified": curve.identified,
        }  # fmt: skip


FIGURE = series_figure(
    "entropy_law",
    "Reward against policy entropy, with the fitted law and its ceiling.",
    HEADING,
    draw,
    law_groups.draw,
)
