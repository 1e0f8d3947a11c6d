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
NO, OPEN, YES = 0.0, 0.5, 1.0
"""Positions of seeds that do not follow the law, are undetermined, or follow it."""


@dataclass(frozen=True)
class _Place:
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
    shown = [_Place(row, group) for row, group in enumerate(groups[:MOST_GROUPS])]
    ticks = seed_rows.names(population.name(place.group) for place in shown)
    height = max(rows_height(len(shown), ROW, AROUND, tuple(ticks)), LEAST)
    grid = canvas.grid(_heading(groups), _titles(groups), 1, height, ticks)
    follows, ceiling, onset, curves = (axes for (axes,) in grid.panels)
    _dress(grid, shown)
    beyond = False
    for place in shown:
        told = population.population_of(place.group)
        beyond |= _follows(follows, place, told.follows)
        beyond |= _ceiling(ceiling, place, told.law.ceiling)
        beyond |= _onset(onset, place, told.onset)
    _curves(curves, shown)
    for position, axes in enumerate((follows, ceiling, onset)):
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks(range(len(shown)), ticks if grid.leftmost(position) else [""] * len(shown))
        axes.grid(axis="y", visible=False)
    canvas.legend(grid.figure, _entries(shown, beyond))
    return Drawing(name, grid.figure, population.COLUMNS, tuple(population.csv_rows(groups)))


def _heading(groups: Sequence[GroupResult]) -> str:
    said = ["Levels over their seeds: how many follow the law, its ceiling, and when they collapse"]
    if len(groups) > MOST_GROUPS:
        said.append(f"{MOST_GROUPS} of {len(groups)} groups")
    failing = sum(len(group.law_fails) for group in groups)
    out = sum(len(group.left_out) for group in groups)
    said += [f"{plural(failing, 'seed')} without a law or a ceiling"] if failing else []
    said += [f"{plural(out, 'unfinished run')} excluded"] if out else []
    return "; ".join(said)


def _titles(groups: Sequence[GroupResult]) -> list[str]:
    column = population.shared_reward(groups)
    on = f" on {label(column)}" if column is not None else ""
    return ["share of seeds that follow the law", f"ceiling b - a{on}", "onset of collapse",
            "seeds that have collapsed (Kaplan-Meier)"]  # fmt: skip


def _follows(axes: Axes, place: _Place, follows: LawShare) -> bool:
    counts = ((YES, follows.followers), (NO, follows.others), (OPEN, follows.undetermined))
    seeds = [Dot(at, place.colour, hollow=at == OPEN) for at, count in counts for _ in range(count)]
    seed_rows.dots(axes, place.row, seeds)
    decided = follows.followers + follows.others
    return seed_rows.estimate(axes, place.row, decided, _ends(follows.share))


def _ceiling(axes: Axes, place: _Place, ceiling: OverSeeds) -> bool:
    seeds = [Dot(run.own.value, place.colour) for run in ceiling.runs]
    seed_rows.dots(axes, place.row, seeds)
    if ceiling.mean is None:
        why = population.WHY.get(ceiling.why or "", "not known")
        axes.text(
            0.5, place.row, why, transform=axes.get_yaxis_transform(), ha="center", va="center",
            color=canvas.GREY,
        )  # fmt: skip
    return seed_rows.estimate(axes, place.row, len(ceiling.runs), _ends(ceiling.mean))


def _onset(axes: Axes, place: _Place, onset: OnsetOverSeeds) -> bool:
    seeds = [
        Dot(run.step, place.colour, "o" if run.collapsed else ">", hollow=not run.collapsed)
        for run in onset.runs
    ]
    seed_rows.dots(axes, place.row, seeds)
    ends = _ends(onset.parametric.median)
    return seed_rows.estimate(axes, place.row, len(onset.runs), ends, onset.last_step)


def _ends(
    number: Interval | BoundedEstimate | None,
) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if number is None else (number.value, number.low, number.high)


def _curves(axes: Axes, shown: Sequence[_Place]) -> None:
    if len(shown) > MOST_CURVES:
        axes.text(0.5, 0.5, "more groups than curves\ncan show: see the CSV", ha="center",
                  transform=axes.transAxes)  # fmt: skip
        return
    for place in shown:
        onset = population.population_of(place.group).onset
        if not onset.incidence or onset.last_step is None:
            continue
        steps = [*(point.step for point in onset.incidence), onset.last_step]
        value, low, high = (
            [*ends, ends[-1]]
            for ends in zip(*((p.value, p.low, p.high) for p in onset.incidence), strict=True)
        )
        axes.step(steps, value, where="post", color=place.colour, ls=place.dashes)
        if len(shown) <= MOST_BANDS:
            axes.fill_between(
                steps, low, high, step="post", color=place.colour, alpha=0.1, lw=0
            )  # fmt: skip


def _dress(grid: canvas.PanelGrid, shown: Sequence[_Place]) -> None:
    """Set limits and labels before anything is drawn."""
    follows, ceiling, onset, curves = (axes for (axes,) in grid.panels)
    follows.set_xlim(-0.05, 1.05)
    follows.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    grid.label_x(follows, "P(law); seeds at 1 follow it, at 0 do not")
    over = [population.population_of(place.group).law.ceiling for place in shown]
    seeds = [run.own.value for of in over for run in of.runs]
    least = MinimumRange(ranges.REWARD_SHARE)
    ceiling.set_xlim(seed_rows.limits(seeds, [e for of in over for e in _ends(of.mean)], least))
    canvas.limit_ticks(ceiling)
    grid.label_x(ceiling, "reward at H = 0")
    last = max(
        (population.population_of(p.group).onset.last_step or 1.0 for p in shown), default=1.0
    )
    for axes in (onset, curves):
        axes.set_xlim(0, 1.03 * last)
        canvas.limit_ticks(axes)
        grid.label_x(axes, "step")
    curves.set_ylim(-0.02, 1.02)
    grid.label_y(curves, "P(collapse by this step)")


def _entries(shown: Sequence[_Place], beyond: bool) -> canvas.Legend:
    names = canvas.labels((population.name(place.group) for place in shown), canvas.LONGEST_GROUP)
    told = [population.population_of(place.group) for place in shown]
    entries: canvas.Legend = {}
    if 1 < len(shown) <= MOST_CURVES:
        for place in shown:
            entries[names[population.name(place.group)]] = canvas.line(
                color=place.colour, ls=place.dashes
            )
    entries["one seed"] = canvas.line(
        color=canvas.INK, marker="o", ls="", ms=canvas.symbol_size(4.5)
    )
    if any(one.follows.undetermined for one in told):
        entries["law undetermined"] = canvas.line(
            color=canvas.INK, marker="o", mfc="none", ls="", ms=canvas.symbol_size(4.5)
        )
    if any(one.onset.censored for one in told):
        entries["no onset until its last step"] = canvas.line(
            color=canvas.INK, marker=">", mfc="none", ls="", ms=canvas.symbol_size(4.5)
        )
    entries["share, mean, median onset, with 95% interval"] = canvas.line(
        color=canvas.INK, marker="D", ms=canvas.symbol_size(4.5), lw=1.4
    )
    return entries | (seed_rows.beyond_entry() if beyond else {})


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
