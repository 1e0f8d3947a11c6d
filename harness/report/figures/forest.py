"""Forest plot of the groups: the seeds as points, their mean with its 95% interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.compare.quantities import QUANTITIES
from harness.law.group_results import Analysis, GroupResult, SeedNumbers
from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing, Limits, label, wrapped
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.text import wording
from harness.report.text.wording import plural

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = ("quantity", "on", "group", "kind", "run", "seed", "value", "low", "high", "censored")
HEADING = "Groups of runs compared: one point per seed, and the mean over seeds"
PANELS = ("a", "ceiling", "gain", "fall", "onset")
UNITS = {"a": "a (reward per unit of exp H)", "fall": "nats", "onset": "share of the run"}
"""Units on the axes; the other quantities are rewards."""
ROW, AROUND = 0.42, 0.5
"""Inches of a group, and of what stands above and below all of them."""
MOST_GROUPS = 40
"""More rows than this nobody reads; the CSV has them all."""
TICK, MOST = 36, 64
"""Characters of a line of a group's name, and of all its lines."""
BELOW = 0.25
"""Distance of a mean below its seeds, in rows."""
REACH = 1.0
"""An interval may widen the axis by this share of what the seeds span; a wider one runs off."""


@dataclass(frozen=True)
class _Mark:
    """One seed in a panel."""

    run: str
    seed: int | None
    value: float
    low: float | None
    high: float | None
    censored: bool


@dataclass(frozen=True)
class _Line:
    """A group in a panel: its seeds and their mean."""

    group: str
    tick: str
    """The same on the axis: each key by its last part, in short lines."""
    marks: tuple[_Mark, ...]
    mean: float | None
    low: float | None
    high: float | None
    censored: int


def draw(groups: Sequence[GroupResult], name: str) -> Drawing:
    """One panel a quantity, one row a group in the order of `groups`; all must be `compared`."""
    lines = {quantity: [_line(group, quantity) for group in groups] for quantity in PANELS}
    shown = min(len(groups), MOST_GROUPS)
    titles = [_title(groups, quantity) for quantity in PANELS]
    heading = HEADING if shown == len(groups) else f"{HEADING}: {shown} of {len(groups)} groups"
    out = sum(len(group.left_out) for group in groups)
    heading += f"; {plural(out, 'unfinished run')} excluded" if out else ""
    failing = sum(len(group.law_fails) for group in groups)
    heading += (
        f"; no a and no ceiling of {plural(failing, 'run')} without a single law" if failing else ""
    )
    ticks = [line.tick for line in lines["a"][:shown]]
    grid = canvas.grid(heading, titles, 1, shown * ROW + AROUND, ticks)
    slots = _slots(lines["onset"])
    for position, (quantity, (axes,)) in enumerate(zip(PANELS, grid.panels, strict=True)):
        _panel(axes, lines[quantity][:shown], slots)
        _dress(axes, lines[quantity][:shown], quantity, grid.leftmost(position))
    canvas.legend(grid.figure, _entries(slots, lines["onset"][:shown]))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(groups, lines)))


def _line(group: GroupResult, quantity: str) -> _Line:
    assert group.compared is not None
    pooled = group.compared.mean(quantity)
    marks = [_mark(seed, quantity) for seed in group.compared.seeds]
    return _Line(
        wording.group_name(group.key),
        _tick(group),
        tuple(mark for mark in marks if mark is not None),
        pooled.mean,
        pooled.low,
        pooled.high,
        pooled.censored,
    )


def _tick(group: GroupResult) -> str:
    last = {key.rpartition(".")[2]: value for key, value in group.key.items()}
    named = last if len(last) == len(group.key) else group.key
    return wrapped(label(wording.group_name(named), MOST), TICK)


def _mark(seed: SeedNumbers, quantity: str) -> _Mark | None:
    who = (seed.run, seed.seed)
    if quantity == "onset":
        at = seed.reached if seed.onset is None else seed.onset
        return _Mark(*who, at, None, None, censored=seed.onset is None)
    value = seed.number(quantity)
    return None if value is None else _Mark(*who, value.value, value.low, value.high, False)


def _title(groups: Sequence[GroupResult], quantity: str) -> str:
    """Name the quantity and its reward column, then count the pairs that differ."""
    compared = groups[0].compared
    assert compared is not None
    on = (
        f"on {label(compared.on)}"
        if compared.on
        else "each level on its own users (not comparable)"
    )
    what = {
        "a": f"a {on}, {'same range' if compared.shared_range else 'different ranges'} of H",
        "ceiling": f"ceiling b - a {on}",
        "gain": f"gain of reward {on}",
        "fall": "fall of entropy H on visited states",
        "onset": "onset of collapse",
    }[quantity]
    return f"{what}{_found(groups, quantity)}"


def _found(groups: Sequence[GroupResult], quantity: str) -> str:
    """`: 1 of 3 pairs differ`; nothing where there are no pairs."""
    decisions = [c.decision for g in groups for c in g.contrasts if c.quantity == quantity]
    tested = [d for d in decisions if d != "not_comparable"]
    if decisions and not tested:
        return ": not comparable"
    return f": {tested.count('differs')} of {len(tested)} pairs differ" if tested else ""


def _slots(lines: Sequence[_Line]) -> dict[int | None, int]:
    """Seed -> colour; one for all where colours do not suffice."""
    seeds = {mark.seed for line in lines for mark in line.marks}
    numbered = sorted(seed for seed in seeds if seed is not None)
    if None in seeds or len(numbered) > len(canvas.COLOURS):
        return dict.fromkeys(seeds, 0)
    return {seed: slot for slot, seed in enumerate(numbered)}


def _panel(axes: Axes, lines: Sequence[_Line], slots: dict[int | None, int]) -> None:
    for row, line in enumerate(lines):
        for mark in line.marks:
            slot = slots[mark.seed]
            axes.plot(
                [mark.value], [row + _aside(slot)],
                ">" if mark.censored else canvas.marker(slot), ms=5,
                color=canvas.colour(slot), mfc="none" if mark.censored else None, alpha=0.8,
            )  # fmt: skip
        if line.mean is not None:
            axes.plot([line.mean], [row + BELOW], "D", color=canvas.INK, ms=5, zorder=4)
        if line.low is not None and line.high is not None:
            axes.plot([line.low, line.high], [row + BELOW] * 2, "-", color=canvas.INK, zorder=3)


def _aside(slot: int) -> float:
    """A little up or down, so that equal values stay visible."""
    return 0.07 * (slot % 3 - 1)


def _dress(axes: Axes, lines: Sequence[_Line], quantity: str, leftmost: bool) -> None:
    axes.set(
        xlim=(-0.03, 1.03) if quantity == "onset" else _limits(lines),
        ylim=(len(lines) - 0.4, -0.5),
    )
    _arrows(axes, lines)
    axes.set_yticks(range(len(lines)), [line.tick if leftmost else "" for line in lines])
    axes.set_xlabel(UNITS.get(quantity, "reward"))
    axes.locator_params(axis="x", nbins=5)
    if not any(line.marks for line in lines):
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")


def _arrows(axes: Axes, lines: Sequence[_Line]) -> None:
    """Where an interval runs off the panel."""
    left, right = axes.get_xlim()
    for row, line in enumerate(lines):
        ends = (line.low, left, "<", -1), (line.high, right, ">", 1)
        for end, edge, head, side in ends:
            if end is not None and side * (end - edge) > 0:
                axes.plot([edge], [row + BELOW], head, color=canvas.INK, ms=6, clip_on=False)


def _limits(lines: Sequence[_Line]) -> Limits:
    """Round the seeds and means, and the intervals as far as REACH lets them."""
    values = np.array([m.value for line in lines for m in line.marks])
    if not len(values):
        return 0.0, 1.0
    air = REACH * (float(np.ptp(values)) or max(abs(float(values[0])), 0.1))
    ends = [end for line in lines for end in (line.mean, line.low, line.high) if end is not None]
    within = np.clip(np.array(ends), values.min() - air, values.max() + air)
    return canvas.limits([values, within])


def _entries(slots: dict[int | None, int], lines: Sequence[_Line]) -> canvas.Legend:
    one_colour = len(set(slots.values())) < len(slots) or None in slots
    several = "one run" if None in slots else "one seed"
    entries: canvas.Legend = {
        several if one_colour else f"seed {seed}": canvas.line(
            color=canvas.colour(slot), marker=canvas.marker(slot), ls="", ms=5
        )
        for seed, slot in slots.items()
    }
    if any(mark.censored for line in lines for mark in line.marks):
        entries["no onset: counted as the end of the run"] = canvas.line(
            color=canvas.INK, marker=">", mfc="none", ls="", ms=5
        )
    mean = "mean over seeds (weighted for a and ceiling), 95% interval"
    mean += "; no interval where seeds are unknown" if None in slots else ""
    entries[mean] = canvas.line(color=canvas.INK, marker="D", ms=5)
    return entries


def _rows(groups: Sequence[GroupResult], lines: dict[str, list[_Line]]) -> Iterator[dict[str, Any]]:
    for quantity, of_groups in lines.items():
        for group, line in zip(groups, of_groups, strict=True):
            assert group.compared is not None
            on = group.compared.on if QUANTITIES[quantity].on_reward else None
            same = {"quantity": quantity, "on": on, "group": line.group}
            for mark in line.marks:
                yield {
                    **same, "kind": "seed", "run": mark.run, "seed": mark.seed,
                    "value": mark.value, "low": mark.low, "high": mark.high,
                    "censored": int(mark.censored),
                }  # fmt: skip
            yield {
                **same, "kind": "mean", "value": line.mean, "low": line.low, "high": line.high,
                "censored": line.censored,
            }  # fmt: skip


def drawable(analysis: Analysis) -> list[GroupResult]:
    """The groups, from the lowest level up; none where no seed stands beside another."""
    compared = [group for group in analysis.groups if group.compared is not None]
    if sum(len(group.runs) for group in compared) < 2:
        return []
    return sorted(compared, key=lambda group: group.compared.order if group.compared else 0)


def _select(subject: Subject) -> Iterator[tuple[str, tuple[GroupResult, ...]]]:
    groups = drawable(subject.analysis)
    if groups:
        yield "", tuple(groups)


FIGURE = FigureSpec(
    "forest",
    "Groups of runs compared by a, ceiling, gain, fall of entropy and onset.",
    _select,
    draw,
)
