"""R against H with the fitted law: one panel a level, runs overlaid, ceilings at the left edge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.results import Floats
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import Pool, PoolPanel
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


HEADING = "Reward R against policy entropy H, and the law R = -a exp(H) + b"
ROW_HEIGHT = 2.6
"""Inches."""


def draw(panels: Sequence[Panel], name: str, axes: AxisNames) -> Drawing:
    """One panel a level."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(HEADING, titles, 1, ROW_HEIGHT)
    traces = [trace for panel in panels for trace in panel.traces]
    identified = [t.ceiling for t in traces if t.ceiling is not None and t.ceiling_identified]
    ceilings = np.array([bound for c in identified for bound in (c.low, c.high)])
    shared = frame(
        [t.points.entropy for t in traces], [*(t.points.reward for t in traces), ceilings]
    )
    for position, (panel, (one,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for place, trace in enumerate(panel.traces):
            _trace(one, trace, shared)
            _ceiling(one, trace, shared, (place + 1) / (len(panel.traces) + 1))
        dress(one, shared, axes, grid.leftmost(position))
    canvas.legend(grid.figure, _entries(panels))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def frame(entropy: Sequence[Floats], reward: Sequence[Floats]) -> Frame:
    """Limits round all points; from H = 0 on, unless the data are far from it."""
    lowest, highest = canvas.limits(entropy, 0.03)
    return Frame(0.0 if lowest <= 0.6 * highest else lowest, highest, *canvas.limits(reward))


def dress(axes: Axes, shared: Frame, names: AxisNames, leftmost: bool) -> None:
    """Limits, labels, and the strip of ceilings at the left edge."""
    axes.set_xlim(shared.left - shared.strip, shared.right)
    axes.set_ylim(shared.low, shared.high)
    axes.axvspan(shared.left - shared.strip, shared.left, color="#f4f4f4", lw=0, zorder=0)
    axes.axvline(shared.left, color=canvas.GREY, lw=0.8, zorder=1)
    axes.set_xticks([t for t in axes.get_xticks() if shared.left <= t <= shared.right])
    axes.set_xlabel(names.entropy)
    axes.tick_params(labelleft=leftmost)
    if leftmost:
        axes.set_ylabel(names.reward)


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


def _ceiling(axes: Axes, trace: Trace, shared: Frame, place: float) -> None:
    """The ceiling with its interval; one off the axis is an arrow at the edge."""
    if trace.ceiling is None:
        return
    at = shared.left - shared.strip * (1 - place)
    colour = canvas.colour(trace.slot) if trace.ceiling_identified else canvas.GREY
    face = colour if trace.ceiling_identified else "white"
    value = trace.ceiling.value
    shape = "^" if value > shared.high else "v" if value < shared.low else "D"
    edge = float(np.clip(value, shared.low, shared.high))
    axes.plot(
        [at, at], [trace.ceiling.low, trace.ceiling.high], "-", color=colour, lw=1.4, zorder=4
    )
    axes.plot(
        [at], [edge], shape, color=colour, mfc=face, ms=5, zorder=5, clip_on=shape == "D"
    )  # fmt: skip


def _entries(panels: Sequence[Panel]) -> canvas.Legend:
    traces = [trace for panel in panels for trace in panel.traces]
    entries: canvas.Legend = {}
    labels = canvas.labels(trace.legend for trace in traces)
    for trace in sorted(traces, key=lambda t: t.slot):
        colour, marker = canvas.colour(trace.slot), canvas.marker(trace.slot)
        entries[labels[trace.legend]] = canvas.line(color=colour, marker=marker, ls="", ms=5)
    ink = canvas.INK
    hollow: dict[str, Any] = {"color": ink, "marker": "o", "mfc": "none", "ls": "", "ms": 5}
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
        entries["ceiling b - a, 95% interval"] = canvas.line(color=ink, marker="D", ms=5)
    if False in ceilings:
        entries["ceiling not identified"] = canvas.line(
            color=canvas.GREY, marker="D", mfc="white", ms=5
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
    )
    for position, (panel, (one,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for place, pool in enumerate(panel.pools):
            _group(one, pool, shared)
            _group_ceiling(one, pool, shared, (place + 1) / (len(panel.pools) + 1))
        dress(one, shared, names, grid.leftmost(position))
    entries = group_legend(panels)
    entries["median of the identified laws"] = canvas.line(color=canvas.INK)
    entries["median ceiling b - a"] = canvas.line(color=canvas.INK, marker="D", ms=5)
    canvas.legend(grid.figure, entries)
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
        axes.plot(h, curve.median[shown], "-", color=colour, zorder=3)


def _group_ceiling(axes: Axes, pool: Pool, shared: Frame, place: float) -> None:
    if pool.ceiling is None:
        return
    at = shared.left - shared.strip * (1 - place)
    colour, ceiling = canvas.colour(pool.slot), pool.ceiling
    axes.plot([at, at], [ceiling.low, ceiling.high], "-", color=colour, lw=1.4, zorder=4)
    axes.plot([at], [ceiling.value], "D", color=colour, ms=5, zorder=5)


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
