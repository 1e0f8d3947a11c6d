"""Figures for many runs: medians over the runs of a group, bands over the middle 80% of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from harness.report.figures import canvas, curves, law
from harness.report.figures.canvas import AxisNames, Drawing
from harness.report.figures.figure_text import label
from harness.report.figures.group_series import Pool, PoolPanel
from harness.report.figures.law import Frame

LAW_COLUMNS = ("level", "group", "kind", "step", "entropy", "reward", "low", "high", "runs")
CURVE_COLUMNS = ("level", "group", "quantity", "step", "value", "low", "high", "runs")
MEDIANS = "medians over runs"
BAND = "10% to 90% of runs"


def draw_law(panels: Sequence[PoolPanel], name: str, names: AxisNames) -> Drawing:
    """R against H: medians over runs, and the median of the curves that are identified."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(f"{law.HEADING}: {MEDIANS}", titles, 1, law.ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    shared = law.frame(
        [p.entropy.median for p in pools],
        [values for p in pools for values in (p.reward.low, p.reward.high)],
    )
    for position, (panel, (one,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for place, pool in enumerate(panel.pools):
            _law(one, pool, shared)
            _ceiling(one, pool, shared, (place + 1) / (len(panel.pools) + 1))
        law.dress(one, shared, names, grid.leftmost(position))
    entries = _entries(panels)
    entries["median of the identified laws"] = Line2D([], [], color=canvas.INK)
    entries["median ceiling b - a"] = Line2D([], [], color=canvas.INK, marker="D", ms=5)
    canvas.legend(grid.figure, entries)
    return Drawing(name, grid.figure, LAW_COLUMNS, tuple(_law_rows(panels)))


def draw_curves(panels: Sequence[PoolPanel], name: str, names: AxisNames) -> Drawing:
    """H and R against the step; a tick at the top for each run's onset."""
    titles = [canvas.title(panel.level, panel.onset_finding) for panel in panels]
    grid = canvas.grid(f"{curves.HEADING}: {MEDIANS}", titles, 2, curves.ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    shared = curves.frame(
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
                _onsets(axes, pool)
        curves.dress(top, bottom, shared, names, grid.leftmost(position))
    entries = _entries(panels)
    if any(pool.onsets for pool in pools):
        entries["onset of one run"] = Line2D([], [], color=canvas.INK, marker="|", ls="", ms=8)
    canvas.legend(grid.figure, entries)
    return Drawing(name, grid.figure, CURVE_COLUMNS, tuple(_curve_rows(panels)))


def _law(axes: Axes, pool: Pool, shared: Frame) -> None:
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


def _ceiling(axes: Axes, pool: Pool, shared: Frame, place: float) -> None:
    if pool.ceiling is None:
        return
    at = shared.left - shared.strip * (1 - place)
    colour, ceiling = canvas.colour(pool.slot), pool.ceiling
    axes.plot([at, at], [ceiling.low, ceiling.high], "-", color=colour, lw=1.4, zorder=4)
    axes.plot([at], [ceiling.value], "D", color=colour, ms=5, zorder=5)


def _onsets(axes: Axes, pool: Pool) -> None:
    """All ticks as one artist: a thousand lines of their own take seconds to lay out."""
    at_the_top = axes.get_xaxis_transform()
    colour = canvas.colour(pool.slot)
    axes.vlines(pool.onsets, 0.93, 1.0, transform=at_the_top, color=colour, lw=1.2)


def _entries(panels: Sequence[PoolPanel]) -> dict[str, Line2D | Patch]:
    slots = {pool.legend: pool.slot for panel in panels for pool in panel.pools}
    entries: dict[str, Line2D | Patch] = {
        label(legend, 60): Line2D([], [], color=canvas.colour(slot), marker=canvas.marker(slot))
        for legend, slot in sorted(slots.items(), key=lambda item: item[1])
    }
    entries[BAND] = Patch(color=canvas.INK, alpha=0.18, lw=0)
    return entries


def _law_rows(panels: Sequence[PoolPanel]) -> Iterator[dict[str, Any]]:
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


def _curve_rows(panels: Sequence[PoolPanel]) -> Iterator[dict[str, Any]]:
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
