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
        shared = law_frame.frame_of_groups(pools, names.reward_range)
        columns = tuple((_pooled_law(panel, shared, names),) for panel in page.pools)
        off = _off_the_scale([pool.ceiling for pool in pools], shared)
        entries = (*legends.group_entries(page), *off)
        return Chart("entropy_law", f"{HEADING}: {MEDIANS}", columns, entries)
    traces = traces_of(page)
    shared = law_frame.frame_of_runs(traces, names.reward_range)
    columns = tuple((_law(panel, shared, names),) for panel in page.panels)
    entries = (*_law_entries(traces), *_off_the_scale([t.ceiling for t in traces], shared))
    return Chart("entropy_law", HEADING, columns, entries)


def _off_the_scale(
    ceilings: Sequence[Interval | None], shared: LawFrame
) -> tuple[LegendEntry, ...]:
    if not any(any(law_frame.edges_exceeded(one, shared)) for one in ceilings if one is not None):
        return ()
    return (LegendEntry("dot ink open", DOT + plot.OPEN_ARROW["^"], law_frame.OFF_THE_SCALE),)


def _law_axes(shared: LawFrame, names: AxisNames) -> tuple[axes.Axis, axes.Axis]:
    ticks = [one for one in axes.round_ticks(shared.left, shared.right) if one[0] >= shared.left]
    across = axis(names.entropy, (shared.left - shared.strip, shared.right), ticks)
    return across, axis(names.reward, (shared.low, shared.high))


def _law(panel: RunPanel, shared: LawFrame, names: AxisNames) -> ChartPanel:
    made = Plot(f"{panel.level}: {panel.law_finding}", *_law_axes(shared, names))
    made.area("strip", (shared.left - shared.strip, shared.left))
    for trace in panel.traces:
        _fitted(made, trace, shared)
    for trace in panel.traces:
        _points(made, trace)
    for place, trace in enumerate(panel.traces, 1):
        at = shared.left - shared.strip * (1 - place / (len(panel.traces) + 1))
        if trace.ceiling is not None:
            kind = css(trace.slot) if trace.ceiling_identified else "grey hollow"
            _ceiling(made, kind, at, trace.ceiling, trace.legend, trace.slot, shared)
    return made.panel()


def _fitted(made: Plot, trace: Trace, shared: LawFrame) -> None:
    if trace.straight is not None:
        made.line(
            f"thin dotted {css(trace.slot)}", *floats(trace.straight.entropy, trace.straight.reward)
        )
    curve = trace.curve
    if curve is None:
        return
    shown = curve.entropy >= shared.left
    h, low, high = (of[shown] for of in (curve.entropy, curve.low, curve.high))
    kind = css(trace.slot) if curve.identified else "grey dashed"
    if curve.identified or not law_frame.hides_all(low, high, shared):
        made.band(kind, list(h), list(low), list(high))
    made.line(kind, *floats(h, curve.reward[shown]))


def _points(made: Plot, trace: Trace) -> None:
    points, colour = trace.points, css(trace.slot)
    after, unjudged = trace.after_onset, trace.unjudged
    kinds = ((~after, ""), (after & ~unjudged, " hollow"), (unjudged, " hollow pale"))
    for chosen, look in kinds:
        kind = f"{colour}{look}"
        made.dots(kind, *floats(points.entropy[chosen], points.reward[chosen]), marker(trace.slot))
    made.hover(
        HoverPoints(
            trace.legend, *floats(points.entropy, points.reward), trace.slot, list(points.steps)
        )
    )


def _ceiling(
    made: Plot, kind: str, at: float, ceiling: Interval, name: str, slot: int, shared: LawFrame
) -> None:
    """Draw the ceiling with its interval; an open arrow marks a part beyond the axis."""
    low, value, high = ceiling.low, ceiling.value, ceiling.high
    made.line(f"thick {kind}", [at, at], [low, high])
    for edge, head in law_frame.edges_exceeded(ceiling, shared):
        made.dots(f"{kind} open", [at], [edge], plot.OPEN_ARROW[head])
    place = min(max(value, made.y.low), made.y.high)
    if place == value:
        made.dots(kind, [at], [value], DIAMOND)
    told = f"ceiling {value:.3g} [{low:.3g}, {high:.3g}]"
    sure = "" if "hollow" not in kind else ", not identified"
    made.hover(HoverPoints(name, [at], [place], slot, words=[f"{told}{sure}"]))


def _pooled_law(panel: GroupPanel, shared: LawFrame, names: AxisNames) -> ChartPanel:
    made = Plot(f"{panel.level}: {panel.law_finding}", *_law_axes(shared, names))
    made.area("strip", (shared.left - shared.strip, shared.left))
    for place, pool in enumerate(panel.pools, 1):
        colour = css(pool.slot)
        if pool.curve is not None:
            shown = pool.curve.at >= shared.left
            h, low, middle, high = (
                list(of[shown])
                for of in (pool.curve.at, pool.curve.low, pool.curve.median, pool.curve.high)
            )
            made.band(colour, h, low, high)
            made.line(colour, h, middle)
        made.dots(colour, *floats(pool.entropy.median, pool.reward.median), marker(pool.slot))
        made.hover(
            HoverPoints(
                pool_name(pool), *floats(pool.entropy.median, pool.reward.median), pool.slot,
                list(pool.reward.at),
            )
        )  # fmt: skip
        if pool.ceiling is not None:
            at = shared.left - shared.strip * (1 - place / (len(panel.pools) + 1))
            _ceiling(made, colour, at, pool.ceiling, pool_name(pool), pool.slot, shared)
    return made.panel()


def _law_entries(traces: Sequence[Trace]) -> tuple[LegendEntry, ...]:
    entries = list(legends.seed_entries(traces))
    if any((trace.after_onset & ~trace.unjudged).any() for trace in traces):
        entries.append(LegendEntry("dot ink hollow", DOT + plot.MARKERS[0], "after the onset"))
    if any(trace.unjudged.any() for trace in traces):
        words = "after the onset, left out of the law"
        entries.append(LegendEntry("dot ink hollow pale", DOT + plot.MARKERS[0], words))
    known = {trace.curve.identified for trace in traces if trace.curve is not None}
    if True in known:
        entries += [
            LegendEntry("line ink", SAMPLE, "fitted law"),
            LegendEntry("band ink", SWATCH, "its 95% band"),
        ]
    if False in known:
        entries.append(LegendEntry("line grey dashed", SAMPLE, "law whose a is not identified"))
    if any(trace.straight is not None for trace in traces):
        entries.append(LegendEntry("line thin dotted ink", SAMPLE, "rival: linear in H"))
    sure = {trace.ceiling_identified for trace in traces if trace.ceiling is not None}
    if True in sure:
        entries.append(LegendEntry("dot ink", DOT + DIAMOND, "ceiling b - a, 95% interval"))
    if False in sure:
        entries.append(LegendEntry("dot grey hollow", DOT + DIAMOND, "ceiling not identified"))
    return tuple(entries)
