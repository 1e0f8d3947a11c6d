"""Charts over time: H and R of runs and residuals of the law, or medians over runs.

harness.report.figures selects the numbers, and also draws them as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.law.results import Floats
from harness.report.figures import canvas, curves, ranges, residuals
from harness.report.figures.canvas import Limits
from harness.report.figures.curves import ALL_SLICES, SLICE
from harness.report.figures.figure_specs import AxisNames, Page
from harness.report.figures.group_series import GroupPanel, GroupTrace
from harness.report.figures.medians import MedianBand, NullControls
from harness.report.figures.ranges import MinimumRange
from harness.report.figures.run_series import RunPanel as RunPanel
from harness.report.figures.run_series import Trace
from harness.report.figures.series_pages import MEDIANS, axis_names
from harness.report.html import legends, plot
from harness.report.html.axes import axis
from harness.report.html.legends import DOT, SAMPLE, SWATCH, floats, pool_name, traces_of
from harness.report.html.plot import Chart, ChartPanel, HoverPoints, LegendEntry, Plot, css, marker


def entropy_curves(page: Page) -> Chart:
    """Return H above R against the step, with the onset, in a column per level."""
    names, heading = axis_names(page.measured, str), curves.HEADING
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        held_out = [pool.held_out for pool in pools if pool.held_out is not None]
        names = curves.both_rewards(names) if held_out else names
        rewards = [*(pool.reward for pool in pools), *held_out]
        limits = curves.frame(
            [pool.course.at for pool in pools],
            [ends for pool in pools for ends in (pool.course.low, pool.course.high)],
            [ends for reward in rewards for ends in (reward.low, reward.high)],
            names.reward_range,
        )
        columns = tuple(_pooled_course(panel, limits, names) for panel in page.pools)
        entries = [*legends.group_entries(page), *_background(page, bool(held_out))]
        return Chart("entropy_curves", f"{heading}: {MEDIANS}", columns, tuple(entries))
    traces = traces_of(page)
    held_out_rewards = [trace.held_out.reward for trace in traces if trace.held_out is not None]
    names = curves.both_rewards(names) if held_out_rewards else names
    limits = curves.frame(
        [trace.course.steps for trace in traces],
        [trace.course.entropy for trace in traces],
        [*(trace.points.reward for trace in traces), *held_out_rewards],
        names.reward_range,
    )
    columns = tuple(_course(panel, limits, names) for panel in page.panels)
    entries = list(legends.seed_entries(traces))
    if any(trace.onset is not None for trace in traces):
        entries.append(LegendEntry("line dashed ink", SAMPLE, "onset"))
        entries.append(LegendEntry("band ink", SWATCH, "its 95% interval"))
    entries += _background(page, bool(held_out_rewards))
    return Chart("entropy_curves", heading, columns, tuple(entries))


def _background(page: Page, held_out: bool) -> Iterator[LegendEntry]:
    """Yield the entries for held-out users, the batch and the null controls, if drawn."""
    if held_out:
        yield LegendEntry("line thin ink", SAMPLE, curves.HELD_OUT)
        yield LegendEntry("line thin faint ink", SAMPLE, curves.BATCH)
    null_controls = [panel.null_controls for panel in page.pools or page.panels]
    runs = [null.runs for null in null_controls if null is not None]
    if runs:
        count_text = f": median of {max(runs)}" if max(runs) > 1 else ""
        yield LegendEntry("line dotted grey", SAMPLE, f"null control of the level{count_text}")


def _null_controls(pair: tuple[Plot, Plot], null: NullControls | None) -> None:
    """Draw the medians of the null controls behind the runs."""
    if null is None:
        return
    name = "null control" if null.runs == 1 else f"null controls, median of {null.runs}"
    for panel_plot, values in zip(pair, (null.entropy, null.reward), strict=True):
        panel_plot.line("dotted grey", *floats(values.at, values.median))
        panel_plot.hover(HoverPoints(name, *floats(values.at, values.median), legends.NO_SERIES))


def _empty_plots(
    title: str, limits: tuple[Limits, Limits, Limits], names: AxisNames
) -> tuple[Plot, Plot]:
    """Return two empty plots over the steps: H above, with the title, and R below."""
    steps, entropy, reward = limits
    top = Plot(title, axis(names.time, steps), axis(names.entropy, entropy))
    return top, Plot("", axis(names.time, steps), axis(names.reward, reward))


def _course(
    panel: RunPanel, limits: tuple[Limits, Limits, Limits], names: AxisNames
) -> tuple[ChartPanel, ChartPanel]:
    top, bottom = _empty_plots(f"{panel.level}: {panel.onset_finding}", limits, names)
    with_onset = [trace for trace in panel.traces if trace.onset is not None]
    for panel_plot in (top, bottom):
        for index, trace in enumerate(with_onset):
            _onset(panel_plot, trace, index, len(with_onset))
    _null_controls((top, bottom), panel.null_controls)
    for trace in panel.traces:
        _run_line(top, trace, *floats(trace.course.steps, trace.course.entropy))
        reward_points = floats(trace.points.steps, trace.points.reward)
        if trace.held_out is not None:  # the batch's reward is drawn pale
            bottom.line(f"thin faint {css(trace.slot)}", *reward_points)
            reward_points = floats(trace.held_out.steps, trace.held_out.reward)
        _run_line(bottom, trace, *reward_points)
    return top.panel(), bottom.panel()


def _onset(panel_plot: Plot, trace: Trace, index: int, count: int) -> None:
    """Draw a dashed line, and shade the interval; several are in slices from the top."""
    assert trace.onset is not None
    low, high = panel_plot.y.low, panel_plot.y.high
    height = (high - low) * (1.0 if count == 1 else min(SLICE, ALL_SLICES / count))
    top = high - index * height
    panel_plot.area(css(trace.slot), (trace.onset.low, trace.onset.high), (top - height, top))
    panel_plot.upright(f"dashed {css(trace.slot)}", trace.onset.step)


def _run_line(panel_plot: Plot, trace: Trace, steps: list[float], values: list[float]) -> None:
    panel_plot.line(f"thin {css(trace.slot)}", steps, values)
    panel_plot.dots(f"small {css(trace.slot)}", steps, values, "h0")
    panel_plot.hover(HoverPoints(trace.legend, steps, values, trace.slot))


def _pooled_course(
    panel: GroupPanel, limits: tuple[Limits, Limits, Limits], names: AxisNames
) -> tuple[ChartPanel, ChartPanel]:
    top, bottom = _empty_plots(f"{panel.level}: {panel.onset_finding}", limits, names)
    _null_controls((top, bottom), panel.null_controls)
    for pool in panel.pools:
        if pool.held_out is not None:
            bottom.line(f"thin faint {css(pool.slot)}", *floats(pool.reward.at, pool.reward.median))
        for panel_plot, values in ((top, pool.course), (bottom, pool.held_out or pool.reward)):
            _draw_median(panel_plot, pool, values)
            low, high = panel_plot.y.low, panel_plot.y.high
            for step in pool.onsets:
                panel_plot.line(
                    f"thick {css(pool.slot)}", [step, step], [high - 0.07 * (high - low), high]
                )
    return top.panel(), bottom.panel()


def _draw_median(panel_plot: Plot, pool: GroupTrace, values: MedianBand | None) -> None:
    if values is None:
        return
    panel_plot.band(
        css(pool.slot), *(list(array) for array in (values.at, values.low, values.high))
    )
    panel_plot.line(css(pool.slot), *floats(values.at, values.median))
    panel_plot.hover(HoverPoints(pool_name(pool), *floats(values.at, values.median), pool.slot))


def residual(page: Page) -> Chart | None:
    """Return R minus the law against the step and against H; None if no law was fitted."""
    names = axis_names(page.measured, str)
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        by_step = [m for p in pools if (m := p.residual_by_step) is not None]
        by_entropy = [m for p in pools if (m := p.residual_by_entropy) is not None]
        spread = [ends for m in (*by_step, *by_entropy) for ends in (m.low, m.high)]
        at_step, at_entropy = [m.at for m in by_step], [m.at for m in by_entropy]
    else:
        traces = [trace for trace in traces_of(page) if trace.residual is not None]
        spread = [trace.residual for trace in traces if trace.residual is not None]
        at_step = [trace.points.steps for trace in traces]
        at_entropy = [trace.points.entropy for trace in traces]
    if not spread:
        return None
    least = ranges.reward(_rewards(page), names.reward_range, ranges.RESIDUAL_SHARE)
    y = axis(residuals.RESIDUAL, canvas.limits([*spread, np.zeros(1)], least=least))
    steps = axis(names.time, canvas.limits(at_step, 0.02))
    h_range = MinimumRange(ranges.H_NATS, 0.0)
    entropy = axis(names.entropy, canvas.limits(at_entropy, 0.02, least=h_range))
    columns = []
    for panel in page.pools or page.panels:
        top, bottom = Plot(panel.level, steps, y), Plot("", entropy, y)
        for panel_plot in (top, bottom):
            panel_plot.across("thin ink", 0.0)
        if isinstance(panel, GroupPanel):
            for pool in panel.pools:
                _draw_median(top, pool, pool.residual_by_step)
                _draw_median(bottom, pool, pool.residual_by_entropy)
        else:
            for trace in panel.traces:
                _draw_residuals(top, trace, list(trace.points.steps))
                _draw_residuals(bottom, trace, list(trace.points.entropy))
        columns.append((top.panel(), bottom.panel()))
    entries = legends.group_entries(page) if page.pools else _residual_entries(traces_of(page))
    heading = f"{residuals.HEADING}: {MEDIANS}" if page.pools else residuals.HEADING
    return Chart("residuals", heading, tuple(columns), entries)


def _residual_entries(traces: Sequence[Trace]) -> tuple[LegendEntry, ...]:
    with_residual = [trace for trace in traces if trace.residual is not None]
    after_entry = LegendEntry("dot ink hollow", DOT + plot.MARKERS[0], "after the onset")
    is_after = any(trace.after_onset.any() for trace in with_residual)
    return (*legends.seed_entries(traces), *([after_entry] if is_after else []))


def _rewards(page: Page) -> list[Floats]:
    """Return the rewards whose residuals are drawn."""
    if page.pools:
        return [pool.reward.median for panel in page.pools for pool in panel.pools]
    return [trace.points.reward for trace in traces_of(page)]


def _draw_residuals(panel_plot: Plot, trace: Trace, x: list[float]) -> None:
    if trace.residual is None:
        return
    values, after_onset = trace.residual, trace.after_onset
    x_array = np.array(x)
    for mask, kind in ((~after_onset, css(trace.slot)), (after_onset, f"{css(trace.slot)} hollow")):
        panel_plot.dots(kind, *floats(x_array[mask], values[mask]), marker(trace.slot))
    panel_plot.hover(
        HoverPoints(trace.legend, x, list(values), trace.slot, list(trace.points.steps))
    )
