"""R against H with the fitted law for many runs: one panel per level, medians over runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.report.figures import canvas, law_frame
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import AxisNames
from harness.report.figures.group_series import GroupPanel, GroupTrace
from harness.report.figures.law_frame import HEADING, ROW_HEIGHT, LawFrame, draw_ceiling
from harness.report.figures.series_pages import MEDIANS, group_legend

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = ("level", "group", "kind", "step", "entropy", "reward", "low", "high", "runs")


def draw(panels: Sequence[GroupPanel], name: str, names: AxisNames) -> Drawing:
    """Draw medians over runs of R against H, and the median of the identified laws."""
    titles = [canvas.title(panel.level, panel.law_finding) for panel in panels]
    grid = canvas.grid(f"{HEADING}: {MEDIANS}", titles, 1, ROW_HEIGHT)
    pools = [pool for panel in panels for pool in panel.pools]
    frame = law_frame.frame_of_groups(pools, names.reward_range)
    has_arrows = False
    for position, (panel, (panel_axes,)) in enumerate(zip(panels, grid.panels, strict=True)):
        for index, pool in enumerate(panel.pools):
            _group(panel_axes, pool, frame)
            if pool.ceiling is not None:
                x = frame.place((index + 1) / (len(panel.pools) + 1))
                has_arrows |= draw_ceiling(panel_axes, x, pool.ceiling, pool.slot, frame)
        law_frame.set_limits_and_labels(grid, position, frame, names)
    has_band = any(pool.curve is not None and pool.identified > 1 for pool in pools)
    entries = group_legend(panels, marked=True, band=has_band)
    if any(pool.curve is not None for pool in pools):
        entries["median of the identified laws"] = canvas.line(color=canvas.INK)
    if any(pool.ceiling is not None for pool in pools):
        entries["median ceiling b - a"] = canvas.line(
            color=canvas.INK, marker="D", ms=canvas.symbol_size(5)
        )
    canvas.legend(grid.figure, {**entries, **(law_frame.off_the_scale() if has_arrows else {})})
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(panels)))


def _group(axes: Axes, pool: GroupTrace, frame: LawFrame) -> None:
    colour = canvas.colour(pool.slot)
    axes.plot(
        pool.entropy.median, pool.reward.median, canvas.marker(pool.slot), color=colour,
        alpha=0.6, mew=0, zorder=2,
    )  # fmt: skip
    if pool.curve is not None:
        curve, visible = pool.curve, pool.curve.at >= frame.left
        h = curve.at[visible]
        axes.fill_between(
            h, curve.low[visible], curve.high[visible], color=colour, alpha=0.18, lw=0
        )
        axes.plot(h, curve.median[visible], ls=canvas.dashes(pool.slot), color=colour, zorder=3)


def _rows(panels: Sequence[GroupPanel]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        for pool in panel.pools:
            common = {"level": panel.level, "group": pool.legend}
            for step, h, r, low, high in zip(
                pool.reward.at, pool.entropy.median, pool.reward.median, pool.reward.low,
                pool.reward.high, strict=True,
            ):  # fmt: skip
                yield {
                    **common, "kind": "median", "step": step, "entropy": h, "reward": r,
                    "low": low, "high": high, "runs": len(pool.runs),
                }  # fmt: skip
            if pool.ceiling is not None:
                yield {
                    **common, "kind": "ceiling", "entropy": 0.0, "reward": pool.ceiling.value,
                    "low": pool.ceiling.low, "high": pool.ceiling.high,
                    "runs": pool.identified_ceilings,
                }  # fmt: skip
            if pool.curve is not None:
                for h, r, low, high in zip(
                    pool.curve.at, pool.curve.median, pool.curve.low, pool.curve.high,
                    strict=True,
                ):  # fmt: skip
                    yield {
                        **common, "kind": "law", "entropy": h, "reward": r, "low": low,
                        "high": high, "runs": pool.identified,
                    }  # fmt: skip
