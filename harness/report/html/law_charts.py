"""Charts of runs, or of medians over runs: the law, the course of H and R, the residuals.

The numbers are those that harness.report.figures selects and draws as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.report.figures import canvas, curves, law, residuals
from harness.report.figures.canvas import Limits
from harness.report.figures.figure_specs import AxisNames, Page
from harness.report.figures.group_series import Middle, Pool, PoolPanel
from harness.report.figures.law import Frame
from harness.report.figures.run_series import Panel as RunPanel
from harness.report.figures.run_series import Trace
from harness.report.figures.series_pages import BAND, MEDIANS, TIMES
from harness.report.html import plot
from harness.report.html.plot import Chart, Entry, Hovered, Panel, Plot, axis, css, marker

SAMPLE = "M2 7h16"
"""A line in the legend."""
SWATCH = "M2 2h16v10h-16z"
DOT = "M10 7"
DIAMOND = plot.MARKERS[3]


def axis_names(page: Page) -> AxisNames:
    """The labels of the axes, with units."""
    measured = page.measured
    unit = {"tabular": " per act", None: ""}.get(measured.policy, " per token")
    reward = f" ({measured.reward})" if measured.reward else ""
    of_whom = "empathy reward" if measured.is_ours else "reward"
    return AxisNames(f"policy entropy H (nats{unit})", f"{of_whom} R{reward}", TIMES[measured.time])


def entropy_law(page: Page) -> Chart:
    """R against H with the fitted law and its ceiling: a panel a level."""
    names = axis_names(page)
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        shared = law.frame(
            [pool.entropy.median for pool in pools],
            [ends for pool in pools for ends in (pool.reward.low, pool.reward.high)],
        )
        columns = tuple((_pooled_law(panel, shared, names),) for panel in page.pools)
        return Chart("entropy_law", f"{law.HEADING}: {MEDIANS}", columns, _pool_entries(page))
    traces = _traces(page)
    sure = [t.ceiling for t in traces if t.ceiling is not None and t.ceiling_identified]
    ends = np.array([bound for ceiling in sure for bound in (ceiling.low, ceiling.high)])
    shared = law.frame(
        [t.points.entropy for t in traces], [*(t.points.reward for t in traces), ends]
    )
    columns = tuple((_law(panel, shared, names),) for panel in page.panels)
    return Chart("entropy_law", law.HEADING, columns, _law_entries(traces))


def _law_axes(shared: Frame, names: AxisNames) -> tuple[plot.Axis, plot.Axis]:
    ticks = [one for one in plot.round_ticks(shared.left, shared.right) if one[0] >= shared.left]
    across = axis(names.entropy, (shared.left - shared.strip, shared.right), ticks)
    return across, axis(names.reward, (shared.low, shared.high))


def _law(panel: RunPanel, shared: Frame, names: AxisNames) -> Panel:
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
            ends = trace.ceiling.low, trace.ceiling.value, trace.ceiling.high
            _ceiling(made, kind, at, ends, trace.legend, trace.slot)
    return made.panel()


def _fitted(made: Plot, trace: Trace, shared: Frame) -> None:
    if trace.straight is not None:
        made.line(f"thin dotted {css(trace.slot)}", *_two(trace.straight.entropy, trace.straight.reward))
    curve = trace.curve
    if curve is None:
        return
    shown = curve.entropy >= shared.left
    h, low, high = (of[shown] for of in (curve.entropy, curve.low, curve.high))
    everywhere = np.mean((low <= shared.low) & (high >= shared.high)) > 0.5
    kind = css(trace.slot) if curve.identified else "grey dashed"
    if curve.identified or not everywhere:
        made.band(kind, list(h), list(low), list(high))
    made.line(kind, *_two(h, curve.reward[shown]))


def _points(made: Plot, trace: Trace) -> None:
    points, colour = trace.points, css(trace.slot)
    after, unjudged = trace.after_onset, trace.unjudged
    for chosen, kind in (
        (~after, colour), (after & ~unjudged, f"{colour} hollow"), (unjudged, f"{colour} hollow pale")
    ):  # fmt: skip
        made.dots(kind, *_two(points.entropy[chosen], points.reward[chosen]), marker(trace.slot))
    made.hover(
        Hovered(
            trace.legend, *_two(points.entropy, points.reward), trace.slot, list(points.steps)
        )
    )


def _ceiling(
    made: Plot, kind: str, at: float, ends: tuple[float, float, float], name: str, slot: int
) -> None:
    """The ceiling with its interval; one off the axis is an arrow at the edge, and told."""
    low, value, high = ends
    made.line(f"thick {kind}", [at, at], [low, high])
    edge = min(max(value, made.y.low), made.y.high)
    shape = plot.ARROW["^" if value > edge else "v"] if value != edge else DIAMOND
    made.dots(kind, [at], [edge], shape)
    told = f"ceiling {value:.3g} [{low:.3g}, {high:.3g}]"
    sure = "" if "hollow" not in kind else ", not identified"
    made.hover(Hovered(name, [at], [edge], slot, words=[f"{told}{sure}"]))


def _pooled_law(panel: PoolPanel, shared: Frame, names: AxisNames) -> Panel:
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
        made.dots(colour, *_two(pool.entropy.median, pool.reward.median), marker(pool.slot))
        made.hover(
            Hovered(
                _pool_name(pool), *_two(pool.entropy.median, pool.reward.median), pool.slot,
                list(pool.reward.at),
            )
        )  # fmt: skip
        if pool.ceiling is not None:
            at = shared.left - shared.strip * (1 - place / (len(panel.pools) + 1))
            ends = pool.ceiling.low, pool.ceiling.value, pool.ceiling.high
            _ceiling(made, colour, at, ends, _pool_name(pool), pool.slot)
    return made.panel()


def entropy_curves(page: Page) -> Chart:
    """H above and R below against the step, with the onset: a column a level."""
    names, heading = axis_names(page), curves.HEADING
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        shared = curves.frame(
            [pool.course.at for pool in pools],
            [ends for pool in pools for ends in (pool.course.low, pool.course.high)],
            [ends for pool in pools for ends in (pool.reward.low, pool.reward.high)],
        )
        columns = tuple(_pooled_course(panel, shared, names) for panel in page.pools)
        return Chart("entropy_curves", f"{heading}: {MEDIANS}", columns, _pool_entries(page))
    traces = _traces(page)
    shared = curves.frame(
        [trace.course.steps for trace in traces],
        [trace.course.entropy for trace in traces],
        [trace.points.reward for trace in traces],
    )
    columns = tuple(_course(panel, shared, names) for panel in page.panels)
    entries = list(_seeds(traces))
    if any(trace.onset is not None for trace in traces):
        entries += [Entry("line dashed ink", SAMPLE, "onset"),
                    Entry("band ink", SWATCH, "its 95% interval")]  # fmt: skip
    return Chart("entropy_curves", heading, columns, tuple(entries))


def _course(
    panel: RunPanel, shared: tuple[Limits, Limits, Limits], names: AxisNames
) -> tuple[Panel, Panel]:
    steps, entropy, reward = shared
    top = Plot(f"{panel.level}: {panel.onset_finding}", axis(names.time, steps), axis(names.entropy, entropy))
    bottom = Plot("", axis(names.time, steps), axis(names.reward, reward))
    for made in (top, bottom):
        for trace in panel.traces:
            if trace.onset is not None:
                made.area(css(trace.slot), (trace.onset.low, trace.onset.high))
                made.upright(f"dashed {css(trace.slot)}", trace.onset.step)
    for trace in panel.traces:
        _run_line(top, trace, list(trace.course.steps), list(trace.course.entropy))
        _run_line(bottom, trace, list(trace.points.steps), list(trace.points.reward))
    return top.panel(), bottom.panel()


def _run_line(made: Plot, trace: Trace, steps: list[float], values: list[float]) -> None:
    made.line(f"thin {css(trace.slot)}", steps, values)
    made.dots(f"small {css(trace.slot)}", steps, values, "h0")
    made.hover(Hovered(trace.legend, steps, values, trace.slot))


def _pooled_course(
    panel: PoolPanel, shared: tuple[Limits, Limits, Limits], names: AxisNames
) -> tuple[Panel, Panel]:
    steps, entropy, reward = shared
    top = Plot(f"{panel.level}: {panel.onset_finding}", axis(names.time, steps), axis(names.entropy, entropy))
    bottom = Plot("", axis(names.time, steps), axis(names.reward, reward))
    for pool in panel.pools:
        for made, values in ((top, pool.course), (bottom, pool.reward)):
            _middle(made, pool, values)
            low, high = made.y.low, made.y.high
            for step in pool.onsets:
                made.line(f"thick {css(pool.slot)}", [step, step], [high - 0.07 * (high - low), high])
    return top.panel(), bottom.panel()


def _middle(made: Plot, pool: Pool, values: Middle | None) -> None:
    if values is None:
        return
    made.band(css(pool.slot), *(list(of) for of in (values.at, values.low, values.high)))
    made.line(css(pool.slot), *_two(values.at, values.median))
    made.hover(Hovered(_pool_name(pool), *_two(values.at, values.median), pool.slot))


def residual(page: Page) -> Chart | None:
    """R minus the law against the step and against H; None where no law was fitted."""
    names = axis_names(page)
    if page.pools:
        pools = [pool for panel in page.pools for pool in panel.pools]
        by_step = [m for p in pools if (m := p.residual_by_step) is not None]
        by_entropy = [m for p in pools if (m := p.residual_by_entropy) is not None]
        spread = [ends for m in (*by_step, *by_entropy) for ends in (m.low, m.high)]
        at_step, at_entropy = [m.at for m in by_step], [m.at for m in by_entropy]
    else:
        traces = [trace for trace in _traces(page) if trace.residual is not None]
        spread = [trace.residual for trace in traces if trace.residual is not None]
        at_step = [trace.points.steps for trace in traces]
        at_entropy = [trace.points.entropy for trace in traces]
    if not spread:
        return None
    y = axis(residuals.RESIDUAL, canvas.limits([*spread, np.zeros(1)]))
    steps = axis(names.time, canvas.limits(at_step, 0.02))
    entropy = axis(names.entropy, canvas.limits(at_entropy, 0.02))
    columns = []
    for panel in page.pools or page.panels:
        top, bottom = Plot(panel.level, steps, y), Plot("", entropy, y)
        for made in (top, bottom):
            made.across("thin ink", 0.0)
        if isinstance(panel, PoolPanel):
            for pool in panel.pools:
                _middle(top, pool, pool.residual_by_step)
                _middle(bottom, pool, pool.residual_by_entropy)
        else:
            for trace in panel.traces:
                _left_over(top, trace, list(trace.points.steps))
                _left_over(bottom, trace, list(trace.points.entropy))
        columns.append((top.panel(), bottom.panel()))
    entries = _pool_entries(page) if page.pools else tuple(_seeds(_traces(page)))
    heading = f"{residuals.HEADING}: {MEDIANS}" if page.pools else residuals.HEADING
    return Chart("residuals", heading, tuple(columns), entries)


def _left_over(made: Plot, trace: Trace, at: list[float]) -> None:
    if trace.residual is None:
        return
    values, after = trace.residual, trace.after_onset
    places = np.array(at)
    for chosen, kind in ((~after, css(trace.slot)), (after, f"{css(trace.slot)} hollow")):
        made.dots(kind, *_two(places[chosen], values[chosen]), marker(trace.slot))
    made.hover(Hovered(trace.legend, at, list(values), trace.slot, list(trace.points.steps)))


def _traces(page: Page) -> list[Trace]:
    return [trace for panel in page.panels for trace in panel.traces]


def _two(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> tuple[list[float], list[float]]:
    return [float(v) for v in x], [float(v) for v in y]


def _pool_name(pool: Pool) -> str:
    return f"{pool.legend}, median of {len(pool.runs)}"


def _seeds(traces: Sequence[Trace]) -> Iterator[Entry]:
    """One entry a legend name: a seed, or a run."""
    for name, slot in sorted({t.legend: t.slot for t in traces}.items(), key=lambda one: one[1]):
        yield Entry(f"dot {css(slot)}", DOT + marker(slot), name, slot)


def _law_entries(traces: Sequence[Trace]) -> tuple[Entry, ...]:
    entries = list(_seeds(traces))
    if any((trace.after_onset & ~trace.unjudged).any() for trace in traces):
        entries.append(Entry("dot ink hollow", DOT + plot.MARKERS[0], "after the onset"))
    if any(trace.unjudged.any() for trace in traces):
        words = "after the onset, left out of the law"
        entries.append(Entry("dot ink hollow pale", DOT + plot.MARKERS[0], words))
    known = {trace.curve.identified for trace in traces if trace.curve is not None}
    if True in known:
        entries += [Entry("line ink", SAMPLE, "fitted law"), Entry("band ink", SWATCH, "its 95% band")]
    if False in known:
        entries.append(Entry("line grey dashed", SAMPLE, "law whose a is not identified"))
    if any(trace.straight is not None for trace in traces):
        entries.append(Entry("line thin dotted ink", SAMPLE, "rival: linear in H"))
    sure = {trace.ceiling_identified for trace in traces if trace.ceiling is not None}
    if True in sure:
        entries.append(Entry("dot ink", DOT + DIAMOND, "ceiling b - a, 95% interval"))
    if False in sure:
        entries.append(Entry("dot grey hollow", DOT + DIAMOND, "ceiling not identified"))
    return tuple(entries)


def _pool_entries(page: Page) -> tuple[Entry, ...]:
    slots = {pool.legend: pool.slot for panel in page.pools for pool in panel.pools}
    entries = [
        Entry(f"dot {css(slot)}", DOT + marker(slot), legend, slot)
        for legend, slot in sorted(slots.items(), key=lambda one: one[1])
    ]
    return (*entries, Entry("band ink", SWATCH, BAND))
