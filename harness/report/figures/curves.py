"""H and R over time: one column per level, runs overlaid, the onset with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.law.results import Floats
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import Drawing, Limits, PanelGrid
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import GroupPanel, GroupTrace
from harness.report.figures.medians import MedianBand, NullControls
from harness.report.figures.run_series import RunPanel, Trace
from harness.report.figures.series_pages import MEDIANS, group_legend, series_figure

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

GROUP_COLUMNS = ("level", "group", "quantity", "step", "value", "low", "high", "runs")
COLUMNS = ("level", "run", "kind", "step", "low", "high", "entropy", "reward")


HEADING = "Entropy H and reward R over training, with the onset of collapse"
ROW_HEIGHT = 2.1
"""Inches."""
DASHES = (0, (4, 2))
NULL: dict[str, Any] = {"color": canvas.GREY, "ls": (0, (1, 1)), "lw": 1.5, "zorder": 1.8}
"""Style of the null controls, which are drawn behind the runs of a level."""
PALE: dict[str, Any] = {"lw": 0.7, "alpha": 0.5, "zorder": 1.9}
"""Style of the batch's reward if that on held-out users is drawn too."""
HELD_OUT, BATCH = "R on held-out users", "R of the same batch"
SLICE, ALL_SLICES = 0.06, 0.4
"""Height of the interval of one of several onsets, and of all, as a share of the panel."""


def draw(panels: Sequence[RunPanel], name: str, names: AxisNames) -> Drawing:
    """Draw one column per level, H above and R below."""
    titles = [canvas.title(panel.level, panel.onset_finding) for panel in panels]
    grid = canvas.grid(HEADING, titles, 2, ROW_HEIGHT)
    traces = [trace for panel in panels for trace in panel.traces]
    if any(trace.held_out is not None for trace in traces):
        names = both_rewards(names)
    nulls = [panel.null_controls for panel in panels if panel.null_controls is not None]
    limits = frame(
        [*(trace.course.steps for trace in traces), *(null.entropy.at for null in nulls)],
        [*(trace.course.entropy for trace in traces), *(null.entropy.median for null in nulls)],
        [
            *(trace.points.reward for trace in traces),
            *(trace.held_out.reward for trace in traces if trace.held_out is not None),
            *(null.reward.median for null in nulls),
        ],
        names.reward_range,
    )
    for position, (panel, pair) in enumerate(zip(panels, grid.panels, strict=True)):
        top, bottom = pair
        _null_controls(pair, panel.null_controls)
        for trace in panel.traces:
            _line(top, trace, trace.course.steps, trace.course.entropy)
            _reward(bottom, trace)
        for axes in pair:
            _onsets(axes, [trace for trace in panel.traces if trace.onset is not None])
        set_limits_and_labels(grid, position, limits, names)
    canvas.legend(grid.figure, _entries(panels))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def both_rewards(names: AxisNames) -> AxisNames:
    """Return the labels of panels that have the reward of held-out users and that of the batch."""
    return replace(names, reward="empathy reward R")


def frame(
    steps: Sequence[Floats],
    entropy: Sequence[Floats],
    reward: Sequence[Floats],
    reward_range: float | None,
) -> tuple[Limits, Limits, Limits]:
    """Return the limits of step, H and R that all panels share."""
    return (
        canvas.limits(steps, 0.02),
        canvas.limits(entropy, least=ranges.entropy(entropy)),
        canvas.limits(reward, least=ranges.reward(reward, reward_range)),
    )


def set_limits_and_labels(
    grid: PanelGrid, position: int, limits: tuple[Limits, Limits, Limits], names: AxisNames
) -> None:
    """Set the limits and labels of a column."""
    (top, bottom), (steps, entropy, reward) = grid.panels[position], limits
    top.set(xlim=steps, ylim=entropy)
    bottom.set(xlim=steps, ylim=reward)
    grid.label_x(bottom, names.time)
    top.tick_params(labelbottom=False)
    for axes in (top, bottom):
        axes.tick_params(labelleft=grid.leftmost(position))
    if grid.leftmost(position):
        grid.label_y(top, names.entropy)
        grid.label_y(bottom, names.reward)


def _null_controls(pair: Sequence[Axes], null: NullControls | None) -> None:
    """Draw the medians of the null controls behind the runs."""
    if null is not None:
        for axes, values in zip(pair, (null.entropy, null.reward), strict=True):
            axes.plot(values.at, values.median, **NULL)


def _reward(axes: Axes, trace: Trace) -> None:
    """Draw R; if held-out users were measured too, their reward in full and the batch's pale."""
    if trace.held_out is None:
        _line(axes, trace, trace.points.steps, trace.points.reward)
        return
    axes.plot(trace.points.steps, trace.points.reward, "-", color=canvas.colour(trace.slot), **PALE)
    _line(axes, trace, trace.held_out.steps, trace.held_out.reward)


def _line(axes: Axes, trace: Trace, steps: Floats, values: Floats) -> None:
    axes.plot(
        steps, values, "-", marker=canvas.marker(trace.slot), color=canvas.colour(trace.slot),
        lw=canvas.symbol_size(1.2), ms=canvas.symbol_size(2.6), mew=0, alpha=0.85,
    )  # fmt: skip


def _onsets(axes: Axes, traces: Sequence[Trace]) -> None:
    """Draw a dashed line at each onset, and shade its interval; several in slices from the top."""
    height = min(SLICE, ALL_SLICES / max(len(traces), 1)) if len(traces) > 1 else 1.0
    alpha = 0.35 if len(traces) > 1 else 0.13
    for index, trace in enumerate(traces):
        assert trace.onset is not None
        colour = canvas.colour(trace.slot)
        axes.axvline(
            trace.onset.step, color=colour, ls=DASHES, lw=canvas.symbol_size(1.3), zorder=1
        )
        top = 1 - index * height
        axes.axvspan(
            trace.onset.low, trace.onset.high, top - height, top, color=colour, alpha=alpha, lw=0,
            zorder=0,
        )  # fmt: skip


def _entries(panels: Sequence[RunPanel]) -> canvas.Legend:
    traces = [trace for panel in panels for trace in panel.traces]
    entries = canvas.series_entries(((trace.legend, trace.slot) for trace in traces), ms=4)
    if any(trace.onset is not None for trace in traces):
        entries["onset"] = canvas.line(color=canvas.INK, ls=DASHES)
        entries["its 95% interval"] = canvas.patch(color=canvas.INK, alpha=0.15, lw=0)
    return entries | _background(panels, any(trace.held_out is not None for trace in traces))


def _background(panels: Sequence[RunPanel | GroupPanel], held_out: bool) -> canvas.Legend:
    """Return the entries for held-out users, the batch and the null controls, if drawn."""
    entries: canvas.Legend = {}
    if held_out:
        entries[HELD_OUT] = canvas.line(color=canvas.INK, marker="o", ms=canvas.symbol_size(4))
        entries[BATCH] = canvas.line(color=canvas.INK, **PALE)
    nulls = [panel.null_controls.runs for panel in panels if panel.null_controls is not None]
    if nulls:
        count_text = f": median of {max(nulls)}" if max(nulls) > 1 else ""
        entries[f"null control of the level{count_text}"] = canvas.line(**NULL)
    return entries


def _rows(panels: Sequence[RunPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for trace in panel.traces:
            common = {"level": panel.level, "run": trace.run}
            for step, h in zip(trace.course.steps, trace.course.entropy, strict=True):
                yield {**common, "kind": "entropy", "step": step, "entropy": h}
            for step, r in zip(trace.points.steps, trace.points.reward, strict=True):
                yield {**common, "kind": "reward", "step": step, "reward": r}
            if trace.held_out is not None:
                for step, r in zip(trace.held_out.steps, trace.held_out.reward, strict=True):
                    yield {**common, "kind": "held_out_reward", "step": step, "reward": r}
            if trace.onset is not None:
                onset = trace.onset
                yield {
                    **common, "kind": onset.kind, "step": onset.step,
                    "low": onset.low, "high": onset.high,
                }  # fmt: skip
        if panel.null_controls is not None:
            null, common = panel.null_controls, {"level": panel.level, "kind": "null_control"}
            for step, h in zip(null.entropy.at, null.entropy.median, strict=True):
                yield {**common, "step": step, "entropy": h}
            for step, r in zip(null.reward.at, null.reward.median, strict=True):
                yield {**common, "step": step, "reward": r}


def draw_groups(panels: Sequence[GroupPanel], name: str, names: AxisNames) -> Drawing:
    """Draw H and R of groups against the step, with a tick at the top for each run's onset."""
    titles = [canvas.title(panel.level, panel.onset_finding) for panel in panels]
    grid = canvas.grid(f"{HEADING}: {MEDIANS}", titles, 2, ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    held_out = [pool.held_out for pool in pools if pool.held_out is not None]
    names = both_rewards(names) if held_out else names
    rewards = [*(pool.reward for pool in pools), *held_out]
    limits = frame(
        [p.course.at for p in pools],
        [values for p in pools for values in (p.course.low, p.course.high)],
        [values for reward in rewards for values in (reward.low, reward.high)],
        names.reward_range,
    )
    for position, (panel, (top, bottom)) in enumerate(zip(panels, grid.panels, strict=True)):
        _null_controls((top, bottom), panel.null_controls)
        for pool in panel.pools:
            _group(top, pool, pool.course)
            _group(bottom, pool, pool.held_out or pool.reward)
            if pool.held_out is not None:
                bottom.plot(
                    pool.reward.at, pool.reward.median, color=canvas.colour(pool.slot), **PALE
                )
        set_limits_and_labels(grid, position, limits, names)
    entries = group_legend(panels, marked=False)
    if any(pool.onsets for pool in pools):
        entries["onset of one run"] = canvas.line(color=canvas.INK, marker="|", ls="", ms=8)
    entries |= _background(panels, bool(held_out))
    canvas.legend(grid.figure, entries)
    return Drawing(name, grid.figure, GROUP_COLUMNS, tuple(_group_rows(panels)))


def _group(axes: Axes, pool: GroupTrace, values: MedianBand) -> None:
    colour = canvas.colour(pool.slot)
    axes.fill_between(values.at, values.low, values.high, color=colour, alpha=0.2, lw=0)
    axes.plot(values.at, values.median, ls=canvas.dashes(pool.slot), color=colour)
    _group_onsets(axes, pool)


def _group_onsets(axes: Axes, pool: GroupTrace) -> None:
    """Draw all ticks as one artist: a thousand separate lines take seconds to lay out."""
    transform = axes.get_xaxis_transform()
    colour = canvas.colour(pool.slot)
    axes.vlines(pool.onsets, 0.93, 1.0, transform=transform, color=colour, lw=1.2)


def _group_rows(panels: Sequence[GroupPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for pool in panel.pools:
            common = {"level": panel.level, "group": pool.legend}
            courses = [("entropy", pool.course), ("reward", pool.reward)]
            courses += [("held_out_reward", pool.held_out)] if pool.held_out else []
            for quantity, values in courses:
                for step, value, low, high in zip(
                    values.at, values.median, values.low, values.high, strict=True
                ):
                    yield {
                        **common, "quantity": quantity, "step": step, "value": value, "low": low,
                        "high": high, "runs": len(pool.runs),
                    }  # fmt: skip
            for step in pool.onsets:
                yield {**common, "quantity": "onset", "step": step, "runs": 1}
        if panel.null_controls is not None:
            null = panel.null_controls
            for quantity, values in (("entropy", null.entropy), ("reward", null.reward)):
                for step, value, low, high in zip(
                    values.at, values.median, values.low, values.high, strict=True
                ):
                    yield {
                        "level": panel.level, "group": "null control", "quantity": quantity,
                        "step": step, "value": value, "low": low, "high": high, "runs": null.runs,
                    }  # fmt: skip


FIGURE = series_figure(
    "entropy_curves",
    "Policy entropy and reward over training, with the onset of collapse.",
    HEADING,
    draw,
    draw_groups,
)
