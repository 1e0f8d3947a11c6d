"""Levels against how many seeds follow the law, the ceiling, and when they collapse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.law.group_results import GroupResult
from harness.law.population_results import Follows, OnsetOverSeeds, OverSeeds
from harness.law.results import Bounded, Interval
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing, colour, label, wrapped
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.tables import population
from harness.report.text.wording import plural

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

ROW, AROUND, LEAST = 0.5, 0.5, 2.3
"""Inches of a level, of what stands above and below all of them, and of a panel at least."""
MOST_GROUPS = 40
MOST_CURVES, MOST_BANDS = 14, 3
"""Groups whose curves, and bands of curves, one panel can show."""
REACH = 1.0
"""An interval may widen the axis by this share of what the seeds span; a wider one runs off."""
TICK, MOST = 30, 60
"""Characters of a line of a level's name, and of all its lines."""
BELOW, SPREAD, MOST_APART = 0.2, 0.16, 0.12
"""How far below its level an estimate stands and above it its seeds, and how far seeds of one value
stand from one another at most, in rows."""
NO, OPEN, YES = 0.0, 0.5, 1.0
"""Where seeds stand that follow the law, or not, or of which nobody knows."""
DASHES = ("-", "--")


@dataclass(frozen=True)
class _Place:
    """A level in the figure."""

    row: int
    group: GroupResult

    @property
    def colour(self) -> str:
        return colour(self.row)

    @property
    def dashes(self) -> str:
        return DASHES[self.row // len(canvas.COLOURS) % len(DASHES)]


def draw(groups: Sequence[GroupResult], name: str) -> Drawing:
    """One row a level, in the order of `groups`; all must be described over their seeds."""
    shown = [_Place(row, group) for row, group in enumerate(groups[:MOST_GROUPS])]
    ticks = [_tick(place.group) for place in shown]
    height = max(len(shown) * ROW + AROUND, LEAST)
    grid = canvas.grid(_heading(groups), _titles(groups), 1, height, ticks)
    follows, ceiling, onset, curves = (axes for (axes,) in grid.panels)
    for place in shown:
        told = population.answers(place.group)
        _follows(follows, place, told.follows)
        _ceiling(ceiling, place, told.law.ceiling)
        _onset(onset, place, told.onset)
    _curves(curves, shown)
    for position, axes in enumerate((follows, ceiling, onset)):
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks(range(len(shown)), ticks if position == 0 else [""] * len(shown))
        axes.grid(axis="y", visible=False)
    _dress(follows, onset, curves, shown)
    _within(ceiling, shown)
    canvas.legend(grid.figure, _entries(shown))
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
    columns = {group.reward for group in groups}
    on = f" on {label(columns.pop())}" if len(columns) == 1 and None not in columns else ""
    return ["share of seeds that follow the law", f"ceiling b - a{on}", "onset of collapse",
            "seeds that have collapsed (Kaplan-Meier)"]  # fmt: skip


def _tick(group: GroupResult) -> str:
    return wrapped(label(population.name(group), MOST), TICK)


def _follows(axes: Axes, place: _Place, follows: Follows) -> None:
    for at, count, fill in (
        (YES, follows.followers, place.colour),
        (NO, follows.others, place.colour),
        (OPEN, follows.undetermined, "none"),
    ):
        _dots(axes, place, [at] * count, "o", fill)
    _estimate(axes, place, follows.share)


def _ceiling(axes: Axes, place: _Place, ceiling: OverSeeds) -> None:
    _dots(axes, place, [run.own.value for run in ceiling.runs], "o", place.colour)
    _estimate(axes, place, ceiling.mean)
    if ceiling.mean is None:
        why = population.WHY.get(ceiling.why or "", "not known")
        axes.text(
            0.5, place.row, why, transform=axes.get_yaxis_transform(), ha="center", va="center",
            color=canvas.GREY,
        )  # fmt: skip


def _onset(axes: Axes, place: _Place, onset: OnsetOverSeeds) -> None:
    for collapsed, symbol, fill in ((True, "o", place.colour), (False, ">", "none")):
        at = [run.step for run in onset.runs if run.collapsed is collapsed]
        _dots(axes, place, at, symbol, fill)
    _estimate(axes, place, onset.parametric.median, onset.last_step)


def _dots(axes: Axes, place: _Place, values: Sequence[float], symbol: str, fill: str) -> None:
    """Seeds, those of equal value above one another."""
    at = np.sort(np.array(values, dtype=float))
    _, first, counts = np.unique(at, return_index=True, return_counts=True)
    among = np.arange(len(at)) - np.repeat(first, counts)
    many = np.repeat(counts, counts)
    apart = np.minimum(MOST_APART, 2 * SPREAD / np.maximum(many - 1, 1))
    heights = place.row - SPREAD + apart * (among - (many - 1) / 2)
    axes.scatter(
        at, heights, 20, marker=symbol, edgecolors=place.colour, facecolors=fill, alpha=0.8,
        clip_on=False,
    )  # fmt: skip


def _estimate(
    axes: Axes, place: _Place, number: Interval | Bounded | None, end: float | None = None
) -> None:
    """A diamond and its interval; an arrow at `end` where that is open above."""
    if number is None:
        return
    at = place.row + BELOW
    high = end if number.high is None else number.high
    if number.low is not None and high is not None:
        axes.plot([number.low, high], [at] * 2, color=canvas.INK, lw=1.4)
    if number.high is None and number.low is not None and high is not None:
        axes.plot([high], [at], ">", color=canvas.INK, ms=5)
    axes.plot([number.value], [at], "D", color=canvas.INK, ms=4.5, clip_on=False)


def _curves(axes: Axes, shown: Sequence[_Place]) -> None:
    if len(shown) > MOST_CURVES:
        axes.text(0.5, 0.5, "more groups than curves\ncan show: see the CSV", ha="center",
                  transform=axes.transAxes)  # fmt: skip
        return
    for place in shown:
        onset = population.answers(place.group).onset
        if not onset.incidence or onset.last_step is None:
            continue
        steps = [*(point.step for point in onset.incidence), onset.last_step]
        value, low, high = (
            [*ends, ends[-1]]
            for ends in zip(*((p.value, p.low, p.high) for p in onset.incidence), strict=True)
        )
        axes.step(steps, value, where="post", color=place.colour, ls=place.dashes, lw=1.6)
        if len(shown) <= MOST_BANDS:
            axes.fill_between(
                steps, low, high, step="post", color=place.colour, alpha=0.1, lw=0
            )  # fmt: skip


def _dress(follows: Axes, onset: Axes, curves: Axes, shown: Sequence[_Place]) -> None:
    follows.set_xlim(-0.05, 1.05)
    follows.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    follows.set_xlabel("P(law); seeds at 1 follow it, at 0 do not")
    last = max((population.answers(p.group).onset.last_step or 1.0 for p in shown), default=1.0)
    for axes in (onset, curves):
        axes.set_xlim(0, 1.03 * last)
        axes.set_xlabel("step")
    curves.set_ylim(-0.02, 1.02)
    curves.set_ylabel("P(collapse by this step)")


def _within(ceiling: Axes, shown: Sequence[_Place]) -> None:
    """Limits around the seeds; an interval that is much wider runs off, at an arrow."""
    told = [(place, population.answers(place.group).law.ceiling) for place in shown]
    seeds = np.array([run.own.value for _, of in told for run in of.runs])
    means = [(place, of.mean) for place, of in told if of.mean is not None]
    ceiling.set_xlabel("reward at H = 0")
    ceiling.locator_params(axis="x", nbins=5)
    if not len(seeds):
        ceiling.set_xlim(0, 1)
        return
    air = REACH * (float(np.ptp(seeds)) or max(abs(float(seeds[0])), 0.1))
    ends = [e for _, mean in means for e in (mean.value, mean.low, mean.high) if e is not None]
    reached = np.clip(np.array(ends), seeds.min() - air, seeds.max() + air)
    left, right = canvas.limits([seeds, reached])
    ceiling.set_xlim(left, right)
    for place, mean in means:
        for end, edge, head, side in ((mean.low, left, "<", -1), (mean.high, right, ">", 1)):
            if end is not None and side * (end - edge) > 0:
                at = place.row + BELOW
                ceiling.plot([edge], [at], head, color=canvas.INK, ms=5, clip_on=False)


def _entries(shown: Sequence[_Place]) -> canvas.Legend:
    names = canvas.labels([population.name(place.group) for place in shown])
    told = [population.answers(place.group) for place in shown]
    entries: canvas.Legend = {}
    if 1 < len(shown) <= MOST_CURVES:
        for place in shown:
            entries[names[population.name(place.group)]] = canvas.line(
                color=place.colour, ls=place.dashes
            )
    entries["one seed"] = canvas.line(color=canvas.INK, marker="o", ls="", ms=4.5)
    if any(one.follows.undetermined for one in told):
        entries["law undetermined"] = canvas.line(
            color=canvas.INK, marker="o", mfc="none", ls="", ms=4.5
        )
    if any(one.onset.censored for one in told):
        entries["no onset until its last step"] = canvas.line(
            color=canvas.INK, marker=">", mfc="none", ls="", ms=4.5
        )
    entries["share, mean, median onset, with 95% interval"] = canvas.line(
        color=canvas.INK, marker="D", ms=4.5, lw=1.4
    )
    return entries


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
