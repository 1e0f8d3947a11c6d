"""R against H with the fitted law: one panel a level, runs overlaid, ceilings at the left edge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.results import Floats, Interval
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import Drawing, Grid
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import Pool, PoolPanel
from harness.report.figures.ranges import Least
from harness.report.figures.run_series import Curve, Panel, Trace
from harness.report.figures.series_pages import MEDIANS, group_legend, series_figure

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

GROUP_COLUMNS = ("level", "group", "kind", "step", "entropy", "reward", "low", "high", "runs")
COLUMNS = ("level", "run", "kind", "step", "entropy", "reward", "low", "high", "identified")
GUESS = (0, (5, 3))
"""Dashes of a curve that is not identified."""
RIVAL: dict[str, Any] = {"ls": (0, (1, 1.5)), "lw": 0.9, "zorder": 2.5}
"""The line of the rival linear in H: thin and dotted."""
PALE = 0.25
"""Opacity of points after the onset that the law was not judged on."""
REACH = 0.5
"""A ceiling may widen the axis by this share of what the points span; a further one is an arrow."""
INSET = 0.025
"""Share of the height between an arrow and the edge that it points over."""
STRIP = 0.09
"""Share of the width, left of the plot, in which ceilings stand side by side."""


@dataclass(frozen=True)
class Frame:
    """Limits that all panels share."""

    left: float
    """Least H drawn: 0, or just below the data where those are far from 0."""
    right: float
    low: float
    high: float

    @property
    def strip(self) -> float:
        """Width of the ceilings' strip in units of H."""
        return STRIP * (self.right - self.left) / (1 - STRIP)

    def place(self, share: float) -> float:
        """H at a share of the width of the strip."""
        return self.left - self.strip * (1 - share)


HEADING = "Reward R against policy entropy H, and the law R = -a exp(H) + b"
ROW_HEIGHT = 2.6
"""Inches."""


def draw(panels: Sequence[Panel], name: str, axes: AxisNames) -> Drawing:
    """One panel a level."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(HEADING, titles, 1, ROW_HEIGHT)
    traces = [trace for panel in panels for trace in panel.traces]
    identified = [t.ceiling for t in traces if t.ceiling is not None and t.ceiling_identified]
    shared = frame(
        [t.points.entropy for t in traces], [t.points.reward for t in traces], identified,
        axes.reward_range,
    )  # fmt: skip
    off = False
    for position, (panel, (one,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for place, trace in enumerate(panel.traces):
            _trace(one, trace, shared)
            if trace.ceiling is not None:
                slot = trace.slot if trace.ceiling_identified else None
                at = shared.place((place + 1) / (len(panel.traces) + 1))
                off |= _ceiling(one, at, trace.ceiling, slot, shared)
        dress(grid, position, shared, axes)
    canvas.legend(grid.figure, {**_entries(panels), **(_off_the_scale() if off else {})})
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def frame(
    entropy: Sequence[Floats],
    reward: Sequence[Floats],
    ceilings: Sequence[Interval],
    reward_range: float | None,
) -> Frame:
    """Limits round all points; from H = 0 on, unless the data are far from it. Ceilings that are
    identified widen the axis by at most REACH of what the points span.
    """
    lowest, highest = canvas.limits(entropy, 0.03, least=Least(ranges.H_NATS, 0.0))
    points = ranges.finite(reward)
    air = REACH * float(np.ptp(points)) if len(points) else 0.0
    ends = np.array([end for c in ceilings for end in (c.low, c.value, c.high)])
    within = np.clip(ends, points.min() - air, points.max() + air) if len(points) else ends
    low, high = canvas.limits([points, within], least=ranges.reward(reward, reward_range))
    return Frame(0.0 if lowest <= 0.6 * highest else lowest, highest, low, high)


def dress(grid: Grid, position: int, shared: Frame, names: AxisNames) -> None:
    """Limits, labels, and the strip of ceilings at the left edge."""
    (axes,), leftmost = grid.panels[position], grid.leftmost(position)
    axes.set_xlim(shared.left - shared.strip, shared.right)
    axes.set_ylim(shared.low, shared.high)
    axes.axvspan(shared.left - shared.strip, shared.left, color="#f4f4f4", lw=0, zorder=0)
    axes.axvline(shared.left, color=canvas.GREY, lw=0.8, zorder=1)
    axes.set_xticks([t for t in axes.get_xticks() if shared.left <= t <= shared.right])
    grid.label_x(axes, names.entropy)
    axes.tick_params(labelleft=leftmost)
    if leftmost:
        grid.label_y(axes, names.reward)


def _trace(axes: Axes, trace: Trace, shared: Frame) -> None:
    colour, points = canvas.colour(trace.slot), trace.points
    after, unjudged = trace.after_onset, trace.unjudged
    for chosen, face, alpha in (
        (~after, colour, 0.5), (after & ~unjudged, "none", 0.5), (unjudged, "none", PALE)
    ):  # fmt: skip
        axes.plot(
            points.entropy[chosen], points.reward[chosen], canvas.marker(trace.slot), mfc=face,
            mec=colour, mew=0.7, alpha=alpha, zorder=2,
        )  # fmt: skip
    if trace.straight is not None:
        axes.plot(trace.straight.entropy, trace.straight.reward, color=colour, **RIVAL)
    if trace.curve is not None:
        _curve(axes, trace.curve, colour, shared)


def _curve(axes: Axes, curve: Curve, colour: str, shared: Frame) -> None:
    shown = curve.entropy >= shared.left
    entropy, low, high = curve.entropy[shown], curve.low[shown], curve.high[shown]
    style, shade = ("-", 0.18) if curve.identified else (GUESS, 0.07)
    ink = colour if curve.identified else canvas.GREY
    if curve.identified or not _everywhere(low, high, shared):
        axes.fill_between(entropy, low, high, color=ink, alpha=shade, lw=0, zorder=1.5)
    axes.plot(entropy, curve.reward[shown], ls=style, color=ink, zorder=3)


def _everywhere(low: Floats, high: Floats, shared: Frame) -> bool:
    """Whether a band hides the panel over most of its width: it tells nothing then."""
    return bool(np.mean((low <= shared.low) & (high >= shared.high)) > 0.5)


def _ceiling(axes: Axes, at: float, ceiling: Interval, slot: int | None, shared: Frame) -> bool:
    """A ceiling with its interval at H = `at`; grey and hollow without a slot: not identified.

    What lies off the scale is not drawn but said, by an arrow at the edge. Returns whether any is.
    """
    colour = canvas.GREY if slot is None else canvas.colour(slot)
    low, high = np.clip([ceiling.low, ceiling.high], shared.low, shared.high)
    axes.plot([at, at], [low, high], "-", color=colour, lw=canvas.sized(1.4), zorder=4)
    inset = INSET * (shared.high - shared.low)
    ends = (ceiling.low, shared.low, "v", -1), (ceiling.high, shared.high, "^", 1)
    beyond = [
        (edge - side * inset, head) for end, edge, head, side in ends if side * (end - edge) > 0
    ]
    for edge, head in beyond:
        axes.plot(
                [at], [edge], head, color=colour, ms=canvas.sized(5), zorder=5, clip_on=False
            )  # fmt: skip
    if shared.low <= ceiling.value <= shared.high:
        axes.plot(
            [at], [ceiling.value], "D", color=colour, mfc="white" if slot is None else colour,
            ms=canvas.sized(5), zorder=5,
        )  # fmt: skip
    return bool(beyond)


def _off_the_scale() -> canvas.Legend:
    symbol = canvas.line(color=canvas.INK, marker="^", ls="", ms=canvas.sized(5))
    return {"ceiling or interval off the scale": symbol}


def _entries(panels: Sequence[Panel]) -> canvas.Legend:
    traces = [trace for panel in panels for trace in panel.traces]
    entries: canvas.Legend = {}
    labels = canvas.labels(trace.legend for trace in traces)
    for trace in sorted(traces, key=lambda t: t.slot):
        colour, marker = canvas.colour(trace.slot), canvas.marker(trace.slot)
        entries[labels[trace.legend]] = canvas.line(
            color=colour, marker=marker, ls="", ms=canvas.sized(5)
        )
    ink = canvas.INK
    hollow: dict[str, Any] = {
        "color": ink,
        "marker": "o",
        "mfc": "none",
        "ls": "",
        "ms": canvas.sized(5),
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
            color=ink, marker="D", ms=canvas.sized(5)
        )
    if False in ceilings:
        entries["ceiling not identified"] = canvas.line(
            color=canvas.GREY, marker="D", mfc="white", ms=canvas.sized(5)
        )
    return entries


def _rows(panels: Sequence[Panel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for trace in panel.traces:
            same = {"level": panel.level, "run": trace.run}
            points = trace.points
            for step, h, r in zip(points.steps, points.entropy, points.reward, strict=True):
                yield {**same, "kind": "point", "step": step, "entropy": h, "reward": r}
            if trace.curve is not None:
                yield from _curve_rows(same, trace)
            if trace.straight is not None:
                for h, r in zip(trace.straight.entropy, trace.straight.reward, strict=True):
                    yield {**same, "kind": "linear_in_h", "entropy": h, "reward": r}
            if trace.ceiling is not None:
                yield {
                    **same, "kind": "ceiling", "entropy": 0.0, "reward": trace.ceiling.value,
                    "low": trace.ceiling.low, "high": trace.ceiling.high,
                    "identified": trace.ceiling_identified,
                }  # fmt: skip


def _curve_rows(same: dict[str, Any], trace: Trace) -> Iterator[dict[str, Any]]:
    curve = trace.curve
    assert curve is not None
    kind = "law_until_onset" if trace.until_onset else "law"
    for h, r, low, high in zip(curve.entropy, curve.reward, curve.low, curve.high, strict=True):
        yield {
            **same, "kind": kind, "entropy": h, "reward": r, "low": low, "high": high,
            "identified": curve.identified,
        }  # fmt: skip


def draw_groups(panels: Sequence[PoolPanel], name: str, names: AxisNames) -> Drawing:
    """R against H: medians over runs, and the median of the curves that are identified."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(f"{HEADING}: {MEDIANS}", titles, 1, ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    shared = frame(
        [p.entropy.median for p in pools],
        [values for p in pools for values in (p.reward.low, p.reward.high)],
        [p.ceiling for p in pools if p.ceiling is not None],
        names.reward_range,
    )
    off = False
    for position, (panel, (one,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for place, pool in enumerate(panel.pools):
            _group(one, pool, shared)
            if pool.ceiling is not None:
                at = shared.place((place + 1) / (len(panel.pools) + 1))
                off |= _ceiling(one, at, pool.ceiling, pool.slot, shared)
        dress(grid, position, shared, names)
    entries = group_legend(panels, marked=True)
    if any(pool.curve is not None for pool in pools):
        entries["median of the identified laws"] = canvas.line(color=canvas.INK)
    if any(pool.ceiling is not None for pool in pools):
        entries["median ceiling b - a"] = canvas.line(
            color=canvas.INK, marker="D", ms=canvas.sized(5)
        )
    canvas.legend(grid.figure, {**entries, **(_off_the_scale() if off else {})})
    return Drawing(name, grid.figure, GROUP_COLUMNS, tuple(_group_rows(panels)))


def _group(axes: Axes, pool: Pool, shared: Frame) -> None:
    colour = canvas.colour(pool.slot)
    axes.plot(
        pool.entropy.median, pool.reward.median, canvas.marker(pool.slot), color=colour,
        alpha=0.6, mew=0, zorder=2,
    )  # fmt: skip
    if pool.curve is not None:
        curve, shown = pool.curve, pool.curve.at >= shared.left
        h = curve.at[shown]
        axes.fill_between(h, curve.low[shown], curve.high[shown], color=colour, alpha=0.18, lw=0)
        axes.plot(h, curve.median[shown], ls=canvas.dashes(pool.slot), color=colour, zorder=3)


def _group_rows(panels: Sequence[PoolPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for pool in panel.pools:
            same = {"level": panel.level, "group": pool.legend}
            for step, h, r, low, high in zip(
                pool.reward.at, pool.entropy.median, pool.reward.median, pool.reward.low,
                pool.reward.high, strict=True,
            ):  # fmt: skip
                yield {
                    **same, "kind": "median", "step": step, "entropy": h, "reward": r,
                    "low": low, "high": high, "runs": len(pool.runs),
                }  # fmt: skip
            if pool.ceiling is not None:
                yield {
                    **same, "kind": "ceiling", "entropy": 0.0, "reward": pool.ceiling.value,
                    "low": pool.ceiling.low, "high": pool.ceiling.high,
                    "runs": pool.identified_ceilings,
                }  # fmt: skip
            if pool.curve is not None:
                for h, r, low, high in zip(
                    pool.curve.at, pool.curve.median, pool.curve.low, pool.curve.high,
                    strict=True,
                ):  # fmt: skip
                    yield {
                        **same, "kind": "law", "entropy": h, "reward": r, "low": low,
                        "high": high, "runs": pool.identified,
                    }  # fmt: skip


FIGURE = series_figure(
    "entropy_law",
    "Reward against policy entropy, with the fitted law and its ceiling.",
    HEADING,
    draw,
    draw_groups,
)
