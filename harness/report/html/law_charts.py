"""Charts of the law: R against H of runs, or medians over runs.

harness.report.figures selects the numbers, and also draws them as pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.results import Interval
from harness.report.figures import law_frame
from harness.report.figures.figure_specs import AxisNames, Page
from harness.report.figures.group_series import GroupPanel
from harness.report.figures.law_frame import HEADING, LawFrame
from harness.report.figures.run_series import RunPanel as RunPanel
from harness.report.figures.run_series import Trace
from harness.report.figures.series_pages import MEDIANS, axis_names
from harness.report.html import axes, legends, plot
from harness.report.html.axes import axis
from harness.report.html.legends import DIAMOND, DOT, SAMPLE, SWATCH, floats, pool_name, traces_of
from harness.report.html.plot import Chart, ChartPanel, HoverPoints, LegendEntry, Plot, css, marker


def entropy_law(page: Page) -> Chart:
    """Return R against H with the fitted law and its ceiling, a panel per level."""
    names = axis_names(page.measured, str)
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        frame = law_frame.frame_of_groups(pools, names.reward_range)
        columns = tuple((_pooled_law(panel, frame, names),) for panel in page.pools)
        arrow_entries = _arrow_entries([pool.ceiling for pool in pools], frame)
        entries = (*legends.group_entries(page), *arrow_entries)
        return Chart("entropy_law", f"{HEADING}: {MEDIANS}", columns, entries)
    traces = traces_of(page)
    frame = law_frame.frame_of_runs(traces, names.reward_range)
    columns = tuple((_law(panel, frame, names),) for panel in page.panels)
    entries = (*_law_entries(traces), *_arrow_entries([t.ceiling for t in traces], frame))
    return Chart("entropy_law", HEADING, columns, entries)


def _arrow_entries(ceilings: Sequence[Interval | None], frame: LawFrame) -> tuple[LegendEntry, ...]:
    if not any(
        any(law_frame.edges_exceeded(ceiling, frame)) for ceiling in ceilings if ceiling is not None
    ):
        return ()
    return (LegendEntry("dot ink open", DOT + plot.OPEN_ARROW["^"], law_frame.OFF_THE_SCALE),)


def _law_axes(frame: LawFrame, names: AxisNames) -> tuple[axes.Axis, axes.Axis]:
    ticks = [tick for tick in axes.round_ticks(frame.left, frame.right) if tick[0] >= frame.left]
    x_axis = axis(names.entropy, (frame.left - frame.strip, frame.right), ticks)
    return x_axis, axis(names.reward, (frame.low, frame.high))


def _law(panel: RunPanel, frame: LawFrame, names: AxisNames) -> ChartPanel:
    panel_plot = Plot(f"{panel.level}: {panel.law_finding}", *_law_axes(frame, names))
    panel_plot.area("strip", (frame.left - frame.strip, frame.left))
    for trace in panel.traces:
        _draw_fit(panel_plot, trace, frame)
    for trace in panel.traces:
        _points(panel_plot, trace)
    for index, trace in enumerate(panel.traces, 1):
        x = frame.left - frame.strip * (1 - index / (len(panel.traces) + 1))
        if trace.ceiling is not None:
            kind = css(trace.slot) if trace.ceiling_identified else "grey hollow"
            _ceiling(panel_plot, kind, x, trace.ceiling, trace.legend, trace.slot, frame)
    return panel_plot.panel()


def _draw_fit(panel_plot: Plot, trace: Trace, frame: LawFrame) -> None:
    if trace.straight is not None:
        panel_plot.line(
            f"thin dotted {css(trace.slot)}", *floats(trace.straight.entropy, trace.straight.reward)
        )
    curve = trace.curve
    if curve is None:
        return
    visible = curve.entropy >= frame.left
    h, low, high = (array[visible] for array in (curve.entropy, curve.low, curve.high))
    kind = css(trace.slot) if curve.identified else "grey dashed"
    if curve.identified or not law_frame.hides_all(low, high, frame):
        panel_plot.band(kind, list(h), list(low), list(high))
    panel_plot.line(kind, *floats(h, curve.reward[visible]))


def _points(panel_plot: Plot, trace: Trace) -> None:
    points, colour = trace.points, css(trace.slot)
    after_onset, unjudged = trace.after_onset, trace.unjudged
    kinds = ((~after_onset, ""), (after_onset & ~unjudged, " hollow"), (unjudged, " hollow pale"))
    for mask, suffix in kinds:
        kind = f"{colour}{suffix}"
        panel_plot.dots(
            kind, *floats(points.entropy[mask], points.reward[mask]), marker(trace.slot)
        )
    panel_plot.hover(
        HoverPoints(
            trace.legend, *floats(points.entropy, points.reward), trace.slot, list(points.steps)
        )
    )


def _ceiling(
    panel_plot: Plot, kind: str, x: float, ceiling: Interval, name: str, slot: int, frame: LawFrame
) -> None:
    """Draw the ceiling with its interval; an open arrow marks a part beyond the axis."""
    low, value, high = ceiling.low, ceiling.value, ceiling.high
    panel_plot.line(f"thick {kind}", [x, x], [low, high])
    for edge, head in law_frame.edges_exceeded(ceiling, frame):
        panel_plot.dots(f"{kind} open", [x], [edge], plot.OPEN_ARROW[head])
    y = min(max(value, panel_plot.y.low), panel_plot.y.high)
    if y == value:
        panel_plot.dots(kind, [x], [value], DIAMOND)
    text = f"ceiling {value:.3g} [{low:.3g}, {high:.3g}]"
    not_identified = "" if "hollow" not in kind else ", not identified"
    panel_plot.hover(HoverPoints(name, [x], [y], slot, words=[f"{text}{not_identified}"]))


def _pooled_law(panel: GroupPanel, frame: LawFrame, names: AxisNames) -> ChartPanel:
    panel_plot = Plot(f"{panel.level}: {panel.law_finding}", *_law_axes(frame, names))
    panel_plot.area("strip", (frame.left - frame.strip, frame.left))
    for index, pool in enumerate(panel.pools, 1):
        colour = css(pool.slot)
        if pool.curve is not None:
            visible = pool.curve.at >= frame.left
            h, low, middle, high = (
                list(array[visible])
                for array in (pool.curve.at, pool.curve.low, pool.curve.median, pool.curve.high)
            )
            panel_plot.band(colour, h, low, high)
            panel_plot.line(colour, h, middle)
        panel_plot.dots(colour, *floats(pool.entropy.median, pool.reward.median), marker(pool.slot))
        panel_plot.hover(
            HoverPoints(
                pool_name(pool), *floats(pool.entropy.median, pool.reward.median), pool.slot,
                list(pool.reward.at),
            )
        )  # fmt: skip
        if pool.ceiling is not None:
            x = frame.left - frame.strip * (1 - index / (len(panel.pools) + 1))
            _ceiling(panel_plot, colour, x, pool.ceiling, pool_name(pool), pool.slot, frame)
    return panel_plot.panel()


def _law_entries(traces: Sequence[Trace]) -> tuple[LegendEntry, ...]:
    entries = list(legends.seed_entries(traces))
    if any((trace.after_onset & ~trace.unjudged).any() for trace in traces):
        entries.append(LegendEntry("dot ink hollow", DOT + plot.MARKERS[0], "after the onset"))
    if any(trace.unjudged.any() for trace in traces):
        words = "after the onset, left out of the law"
        entries.append(LegendEntry("dot ink hollow pale", DOT + plot.MARKERS[0], words))
    curves_identified = {trace.curve.identified for trace in traces if trace.curve is not None}
    if True in curves_identified:
        entries += [
            LegendEntry("line ink", SAMPLE, "fitted law"),
            LegendEntry("band ink", SWATCH, "its 95% band"),
        ]
    if False in curves_identified:
        entries.append(LegendEntry("line grey dashed", SAMPLE, "law whose a is not identified"))
    if any(trace.straight is not None for trace in traces):
        entries.append(LegendEntry("line thin dotted ink", SAMPLE, "rival: linear in H"))
    ceilings_identified = {
        trace.ceiling_identified for trace in traces if trace.ceiling is not None
    }
    if True in ceilings_identified:
        entries.append(LegendEntry("dot ink", DOT + DIAMOND, "ceiling b - a, 95% interval"))
    if False in ceilings_identified:
        entries.append(LegendEntry("dot grey hollow", DOT + DIAMOND, "ceiling not identified"))
    return tuple(entries)
