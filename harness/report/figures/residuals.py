"""Residuals of the fitted law against time and H: one column per level, runs overlaid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.results import Floats
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import Drawing, Limits, PanelGrid, Title
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import GroupPanel
from harness.report.figures.medians import MedianBand
from harness.report.figures.ranges import MinimumRange
from harness.report.figures.run_series import RunPanel, Trace
from harness.report.figures.series_pages import group_legend, series_figure
from harness.report.text.wording import number

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = ("level", "run", "step", "entropy", "residual")
POOL_COLUMNS = ("level", "group", "against", "at", "residual", "low", "high", "runs")
HEADING = "Residuals of the fitted law, R - (b - a exp(H)), against time and entropy H"
ROW_HEIGHT = 2.0
"""Inches."""
RESIDUAL = "R minus the law"


def draw(panels: Sequence[RunPanel], name: str, names: AxisNames) -> Drawing:
    """Draw residuals against the step above and against H below; hollow after the onset."""
    traces = [trace for panel in panels for trace in panel.traces]
    titles = [
        _title(
            panel.level,
            [t.residual[~t.unjudged] for t in panel.traces if t.residual is not None],
            suffix=" until the onset" if any(t.unjudged.any() for t in panel.traces) else "",
        )
        for panel in panels
    ]
    grid = canvas.grid(HEADING, titles, 2, ROW_HEIGHT)
    fitted = [trace for trace in traces if trace.residual is not None]
    limits = _frame(
        [t.points.steps for t in fitted],
        [t.points.entropy for t in fitted],
        [t.residual for t in fitted if t.residual is not None],
        ranges.reward([t.points.reward for t in fitted], names.reward_range, ranges.RESIDUAL_SHARE),
    )
    for panel, (top, bottom) in zip(panels, grid.panels, strict=True):
        for trace in panel.traces:
            _trace(top, trace, trace.points.steps)
            _trace(bottom, trace, trace.points.entropy)
    _set_limits_and_labels(grid, limits, names)
    canvas.legend(grid.figure, _entries(traces))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def draw_groups(panels: Sequence[GroupPanel], name: str, names: AxisNames) -> Drawing:
    """Draw medians over the runs of a group, and their spread."""
    pools = [pool for panel in panels for pool in panel.pools]
    by_step = [pool.residual_by_step for pool in pools if pool.residual_by_step]
    by_entropy = [pool.residual_by_entropy for pool in pools if pool.residual_by_entropy]
    titles = [
        _title(
            panel.level,
            [m.median for p in panel.pools if (m := p.residual_by_step)],
            "the median over runs",
            ", also after the onset" if any(p.until_onset for p in panel.pools) else "",
        )
        for panel in panels
    ]
    grid = canvas.grid(f"{HEADING}: medians over runs", titles, 2, ROW_HEIGHT)
    limits = _frame(
        [m.at for m in by_step],
        [m.at for m in by_entropy],
        [values for m in (*by_step, *by_entropy) for values in (m.low, m.high)],
        ranges.reward(
            [pool.reward.median for pool in pools], names.reward_range, ranges.RESIDUAL_SHARE
        ),
    )
    for panel, (top, bottom) in zip(panels, grid.panels, strict=True):
        for pool in panel.pools:
            _draw_median(top, pool.residual_by_step, pool.slot)
            _draw_median(bottom, pool.residual_by_entropy, pool.slot)
    _set_limits_and_labels(grid, limits, names)
    canvas.legend(grid.figure, group_legend(panels, marked=False))
    return Drawing(name, grid.figure, POOL_COLUMNS, tuple(_pool_rows(panels)))


def _title(level: str, residuals: Sequence[Floats], subject: str = "R", suffix: str = "") -> Title:
    """Return `easy: R deviates from the law by 0.02 (rms)`, the root mean square."""
    if not residuals:
        return canvas.title(level, "no law fitted")
    size = float(np.sqrt(np.mean(np.concatenate(residuals) ** 2)))
    return canvas.title(
        level, f"{subject} deviates from the law by {number(size, 0.001)}{suffix} (rms)"
    )


def _frame(
    steps: Sequence[Floats],
    entropy: Sequence[Floats],
    residuals: Sequence[Floats],
    least: MinimumRange,
) -> tuple[Limits, Limits, Limits]:
    """Return the limits that all panels share."""
    with_zero = [*residuals, np.zeros(1)]
    return (
        canvas.limits(steps, 0.02),
        canvas.limits(entropy, 0.02, least=MinimumRange(ranges.H_NATS, 0.0)),
        canvas.limits(with_zero, least=least),
    )


def _set_limits_and_labels(
    grid: PanelGrid, limits: tuple[Limits, Limits, Limits], names: AxisNames
) -> None:
    steps, entropy, residual = limits
    for position, (top, bottom) in enumerate(grid.panels):
        top.set(xlim=steps, ylim=residual)
        bottom.set(xlim=entropy, ylim=residual)
        grid.label_x(top, names.time)
        grid.label_x(bottom, names.entropy)
        for axes in (top, bottom):
            axes.axhline(0.0, color=canvas.INK, lw=0.9, zorder=1)
            axes.tick_params(labelleft=grid.leftmost(position))
            if grid.leftmost(position):
                grid.label_y(axes, RESIDUAL)


def _trace(axes: Axes, trace: Trace, x: Floats) -> None:
    if trace.residual is None:
        return
    colour, after_onset = canvas.colour(trace.slot), trace.after_onset
    for mask, face in ((~after_onset, colour), (after_onset, "none")):
        axes.plot(
            x[mask], trace.residual[mask], canvas.marker(trace.slot), mfc=face, mec=colour,
            mew=0.7, alpha=0.6, zorder=2,
        )  # fmt: skip


def _draw_median(axes: Axes, values: MedianBand | None, slot: int) -> None:
    if values is not None:
        colour = canvas.colour(slot)
        axes.fill_between(values.at, values.low, values.high, color=colour, alpha=0.2, lw=0)
        axes.plot(values.at, values.median, ls=canvas.dashes(slot), color=colour)


def _entries(traces: Sequence[Trace]) -> canvas.Legend:
    names = ((trace.legend, trace.slot) for trace in traces)
    entries = canvas.series_entries(names, ls="", ms=canvas.symbol_size(5))
    if any(trace.after_onset.any() for trace in traces):
        entries["after the onset"] = canvas.line(
            color=canvas.INK, marker="o", mfc="none", ls="", ms=canvas.symbol_size(5)
        )
    return entries


def _rows(panels: Sequence[RunPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for trace in panel.traces:
            if trace.residual is not None:
                points = trace.points
                for step, h, residual_value in zip(
                    points.steps, points.entropy, trace.residual, strict=True
                ):
                    yield {
                        "level": panel.level, "run": trace.run, "step": step, "entropy": h,
                        "residual": residual_value,
                    }  # fmt: skip


def _pool_rows(panels: Sequence[GroupPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for pool in panel.pools:
            for against, values in (
                ("step", pool.residual_by_step), ("entropy", pool.residual_by_entropy)
            ):  # fmt: skip
                if values is not None:
                    for x, median, low, high in zip(
                        values.at, values.median, values.low, values.high, strict=True
                    ):
                        yield {
                            "level": panel.level, "group": pool.legend, "against": against,
                            "at": x, "residual": median, "low": low, "high": high,
                            "runs": len(pool.runs),
                        }  # fmt: skip


FIGURE = series_figure(
    "residuals",
    "Residuals of the fitted law, over training and against entropy.",
    HEADING,
    draw,
    draw_groups,
)
