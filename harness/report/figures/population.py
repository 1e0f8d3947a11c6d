"""Share of seeds that follow the law, ceiling, and onset of collapse of each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.law.group_results import GroupResult
from harness.law.population_results import LawShare, OnsetOverSeeds, OverSeeds
from harness.law.results import BoundedEstimate, Interval
from harness.report.figures import canvas, ranges, seed_rows
from harness.report.figures.canvas import Drawing, colour, label
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.figures.ranges import MinimumRange
from harness.report.figures.seed_rows import Dot
from harness.report.figures.style import rows_height
from harness.report.tables import population
from harness.report.text.wording import plural

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

ROW, AROUND, LEAST = 0.5, 0.5, 2.3
"""Inches of a level, of the space above and below all levels, and the least height of a panel."""
MOST_GROUPS = 40
MOST_CURVES, MOST_BANDS = 14, 3
"""The most groups for which a panel shows curves, and bands around them."""
COLLAPSE, TOO_MANY = "P(collapse by this step)", "more groups than curves\ncan show: see the CSV"
NO, OPEN, YES = 0.0, 0.5, 1.0
"""Positions of seeds that do not follow the law, are undetermined, or follow it."""


@dataclass(frozen=True)
class _LevelRow:
    """A level and its row in the figure."""

    row: int
    group: GroupResult

    @property
    def colour(self) -> str:
        return colour(self.row)

    @property
    def dashes(self) -> canvas.Dashes:
        return canvas.dashes(self.row)


def draw(groups: Sequence[GroupResult], name: str) -> Drawing:
    """Draw a row per level, in the given order; all must be described over their seeds."""
    levels = [_LevelRow(row, group) for row, group in enumerate(groups[:MOST_GROUPS])]
    ticks = seed_rows.names(population.name(level.group) for level in levels)
    height = max(rows_height(len(levels), ROW, AROUND, tuple(ticks)), LEAST)
    grid = canvas.grid(heading(groups), titles(groups), 1, height, ticks)
    follows, ceiling, onset, curves = (axes for (axes,) in grid.panels)
    _set_limits_and_labels(grid, levels)
    exceeds = False
    for level in levels:
        described = population.population_of(level.group)
        exceeds |= _draw_law_share(follows, level, described.follows)
        exceeds |= _draw_ceiling(ceiling, level, described.law.ceiling)
        exceeds |= _draw_onset(onset, level, described.onset)
    _draw_curves(curves, levels)
    for position, axes in enumerate((follows, ceiling, onset)):
        axes.set_ylim(len(levels) - 0.4, -0.6)
        axes.set_yticks(
            range(len(levels)), ticks if grid.leftmost(position) else [""] * len(levels)
        )
        axes.grid(axis="y", visible=False)
    canvas.legend(grid.figure, _entries(levels, exceeds))
    return Drawing(name, grid.figure, population.COLUMNS, tuple(population.csv_rows(groups)))


def heading(groups: Sequence[GroupResult]) -> str:
    """Return what is drawn, and what is not."""
    parts = [
        "Levels over their seeds: how many follow the law, its ceiling, and when they collapse"
    ]
    if len(groups) > MOST_GROUPS:
        parts.append(f"{MOST_GROUPS} of {len(groups)} groups")
    without_law = sum(len(group.law_fails) for group in groups)
    excluded = sum(len(group.left_out) for group in groups)
    parts += [f"{plural(without_law, 'seed')} without a law or a ceiling"] if without_law else []
    parts += [f"{plural(excluded, 'unfinished run')} excluded"] if excluded else []
    return "; ".join(parts)


def titles(groups: Sequence[GroupResult]) -> list[str]:
    """Return the titles of the four panels."""
    column = population.shared_reward(groups)
    column_text = f" on {label(column)}" if column is not None else ""
    return [
        "share of seeds that follow the law",
        f"ceiling b - a{column_text}",
        "onset of collapse",
        "seeds that have collapsed (Kaplan-Meier)",
    ]


def _draw_law_share(axes: Axes, level: _LevelRow, follows: LawShare) -> bool:
    counts = ((YES, follows.followers), (NO, follows.others), (OPEN, follows.undetermined))
    seeds = [
        Dot(position, level.colour, hollow=position == OPEN)
        for position, count in counts
        for _ in range(count)
    ]
    seed_rows.dots(axes, level.row, seeds)
    decided = follows.followers + follows.others
    return seed_rows.estimate(axes, level.row, decided, _ends(follows.share))


def _draw_ceiling(axes: Axes, level: _LevelRow, ceiling: OverSeeds) -> bool:
    seeds = [Dot(run.own.value, level.colour) for run in ceiling.runs]
    seed_rows.dots(axes, level.row, seeds)
    if ceiling.mean is None:
        why = population.WHY.get(ceiling.why or "", "not known")
        axes.text(
            0.5, level.row, why, transform=axes.get_yaxis_transform(), ha="center", va="center",
            color=canvas.GREY,
        )  # fmt: skip
    return seed_rows.estimate(axes, level.row, len(ceiling.runs), _ends(ceiling.mean))


def _draw_onset(axes: Axes, level: _LevelRow, onset: OnsetOverSeeds) -> bool:
    seeds = [
        Dot(run.step, level.colour, "o" if run.collapsed else ">", hollow=not run.collapsed)
        for run in onset.runs
    ]
    seed_rows.dots(axes, level.row, seeds)
    ends = _ends(onset.parametric.median)
    return seed_rows.estimate(axes, level.row, len(onset.runs), ends, onset.last_step)


def _ends(
    number: Interval | BoundedEstimate | None,
) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if number is None else (number.value, number.low, number.high)


def _draw_curves(axes: Axes, levels: Sequence[_LevelRow]) -> None:
    if len(levels) > MOST_CURVES:
        axes.text(0.5, 0.5, TOO_MANY, ha="center", transform=axes.transAxes)
        return
    for level in levels:
        onset = population.population_of(level.group).onset
        if not onset.incidence or onset.last_step is None:
            continue
        steps, value, low, high = staircase(onset, onset.last_step)
        axes.step(steps, value, where="post", color=level.colour, ls=level.dashes)
        if len(levels) <= MOST_BANDS:
            axes.fill_between(
                steps, low, high, step="post", color=level.colour, alpha=0.1, lw=0
            )  # fmt: skip


def staircase(onset: OnsetOverSeeds, last_step: float) -> tuple[list[float], ...]:
    """Return step, value, low and high of the share that has collapsed, level up to the last."""
    steps = [*(point.step for point in onset.incidence), last_step]
    columns = zip(*((p.value, p.low, p.high) for p in onset.incidence), strict=True)
    return steps, *([*ends, ends[-1]] for ends in columns)


def _set_limits_and_labels(grid: canvas.PanelGrid, levels: Sequence[_LevelRow]) -> None:
    """Set limits and labels before anything is drawn."""
    follows, ceiling, onset, curves = (axes for (axes,) in grid.panels)
    follows.set_xlim(-0.05, 1.05)
    follows.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    grid.label_x(follows, "P(law); seeds at 1 follow it, at 0 do not")
    ceilings = [population.population_of(level.group).law.ceiling for level in levels]
    seeds = [run.own.value for ceiling_result in ceilings for run in ceiling_result.runs]
    least = MinimumRange(ranges.REWARD_SHARE)
    ceiling.set_xlim(
        seed_rows.limits(
            seeds, [e for ceiling_result in ceilings for e in _ends(ceiling_result.mean)], least
        )
    )
    canvas.limit_ticks(ceiling)
    grid.label_x(ceiling, "reward at H = 0")
    last = max(
        (population.population_of(p.group).onset.last_step or 1.0 for p in levels), default=1.0
    )
    for axes in (onset, curves):
        axes.set_xlim(0, 1.03 * last)
        canvas.limit_ticks(axes)
        grid.label_x(axes, "step")
    curves.set_ylim(-0.02, 1.02)
    grid.label_y(curves, COLLAPSE)


def _entries(levels: Sequence[_LevelRow], exceeds: bool) -> canvas.Legend:
    names = canvas.labels((population.name(level.group) for level in levels), canvas.LONGEST_GROUP)
    described = [population.population_of(level.group) for level in levels]
    entries: canvas.Legend = {}
    if 1 < len(levels) <= MOST_CURVES:
        for level in levels:
            entries[names[population.name(level.group)]] = canvas.line(
                color=level.colour, ls=level.dashes
            )
    entries["one seed"] = canvas.line(
        color=canvas.INK, marker="o", ls="", ms=canvas.symbol_size(4.5)
    )
    if any(description.follows.undetermined for description in described):
        entries["law undetermined"] = canvas.line(
            color=canvas.INK, marker="o", mfc="none", ls="", ms=canvas.symbol_size(4.5)
        )
    if any(description.onset.censored for description in described):
        entries["no onset until its last step"] = canvas.line(
            color=canvas.INK, marker=">", mfc="none", ls="", ms=canvas.symbol_size(4.5)
        )
    entries["share, mean, median onset, with 95% interval"] = canvas.line(
        color=canvas.INK, marker="D", ms=canvas.symbol_size(4.5), lw=1.4
    )
    return entries | (seed_rows.beyond_entry() if exceeds else {})


def _select(subject: Subject) -> Iterator[tuple[str, tuple[GroupResult, ...]]]:
    groups = population.order(subject.analysis)
    if groups:
        yield "", tuple(groups)


FIGURE = FigureSpec(
    "levels",
    "Share of seeds that follow the law, ceiling and onset of collapse of each level.",
    _select,
    draw,
)
