"""H and R against time: one column a level, runs overlaid, the onset with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.law.results import Floats
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing, Limits
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import Pool, PoolPanel
from harness.report.figures.run_series import Panel, Trace
from harness.report.figures.series_pages import MEDIANS, group_legend, series_figure

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

GROUP_COLUMNS = ("level", "group", "quantity", "step", "value", "low", "high", "runs")
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


def _entries(panels: Sequence[Panel]) -> canvas.Legend:
    traces = [trace for panel in panels for trace in panel.traces]
    entries: canvas.Legend = {}
    labels = canvas.labels(trace.legend for trace in traces)
    for trace in sorted(traces, key=lambda t: t.slot):
        colour, marker = canvas.colour(trace.slot), canvas.marker(trace.slot)
        entries[labels[trace.legend]] = canvas.line(color=colour, marker=marker, ms=4)
    if any(trace.onset is not None for trace in traces):
        entries["onset"] = canvas.line(color=canvas.INK, ls=DASHES)
        entries["its 95% interval"] = canvas.patch(color=canvas.INK, alpha=0.15, lw=0)
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


def draw_groups(panels: Sequence[PoolPanel], name: str, names: AxisNames) -> Drawing:
    """H and R against the step; a tick at the top for each run's onset."""
    titles = [canvas.title(panel.level, panel.onset_finding) for panel in panels]
    grid = canvas.grid(f"{HEADING}: {MEDIANS}", titles, 2, ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    shared = frame(
        [p.course.at for p in pools],
        [values for p in pools for values in (p.course.low, p.course.high)],
        [values for p in pools for values in (p.reward.low, p.reward.high)],
    )
    for position, (panel, (top, bottom)) in enumerate(zip(panels, grid.panels, strict=True)):
        for pool in panel.pools:
            colour = canvas.colour(pool.slot)
            for axes, values in ((top, pool.course), (bottom, pool.reward)):
                axes.fill_between(values.at, values.low, values.high, color=colour, alpha=0.2, lw=0)
                axes.plot(values.at, values.median, "-", color=colour)
                _group_onsets(axes, pool)
        dress(top, bottom, shared, names, grid.leftmost(position))
    entries = group_legend(panels)
    if any(pool.onsets for pool in pools):
        entries["onset of one run"] = canvas.line(color=canvas.INK, marker="|", ls="", ms=8)
    canvas.legend(grid.figure, entries)
    return Drawing(name, grid.figure, GROUP_COLUMNS, tuple(_group_rows(panels)))


def _group_onsets(axes: Axes, pool: Pool) -> None:
    """All ticks as one artist: a thousand lines of their own take seconds to lay out."""
    at_the_top = axes.get_xaxis_transform()
    colour = canvas.colour(pool.slot)
    axes.vlines(pool.onsets, 0.93, 1.0, transform=at_the_top, color=colour, lw=1.2)


def _group_rows(panels: Sequence[PoolPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for pool in panel.pools:
            same = {"level": panel.level, "group": pool.legend}
            for quantity, values in (("entropy", pool.course), ("reward", pool.reward)):
                for step, value, low, high in zip(
                    values.at, values.median, values.low, values.high, strict=True
                ):
                    yield {
                        **same, "quantity": quantity, "step": step, "value": value, "low": low,
                        "high": high, "runs": len(pool.runs),
                    }  # fmt: skip
            for step in pool.onsets:
                yield {**same, "quantity": "onset", "step": step, "runs": 1}


FIGURE = series_figure(
    "entropy_curves",
    "Policy entropy and reward over training, with the onset of collapse.",
    HEADING,
    draw,
    draw_groups,
)
