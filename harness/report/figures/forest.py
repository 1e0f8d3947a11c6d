"""Forest plot of the groups: the seeds as points, their mean with its 95% interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.law.compare.quantities import QUANTITIES
from harness.law.group_results import Analysis, GroupResult, SeedNumbers
from harness.report.figures import canvas, ranges, seed_rows
from harness.report.figures.canvas import Drawing, Title, label
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.figures.ranges import MinimumRange
from harness.report.figures.seed_rows import Dot
from harness.report.figures.style import rows_height
from harness.report.text import wording
from harness.report.text.wording import plural

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = ("quantity", "on", "group", "kind", "run", "seed", "value", "low", "high", "censored")
HEADING = "Groups of runs compared: one point per seed, and the mean over seeds"
PANELS = ("a", "ceiling", "gain", "fall", "onset")
UNITS = {"a": "a (reward per unit of exp H)", "fall": "nats", "onset": "share of the run"}
"""Quantity -> unit on its axis; the others are rewards."""
LEAST = {
    "a": MinimumRange(ranges.SLOPE_SHARE),
    "ceiling": MinimumRange(ranges.REWARD_SHARE),
    "gain": MinimumRange(ranges.REWARD_SHARE),
    "fall": MinimumRange(ranges.FALL_NATS),
}
"""Quantity -> least range of its axis. Groups contain only our runs, whose reward is in 0 to 1."""
ROW, AROUND = 0.42, 0.5
"""Inches of a group, and of the space above and below all groups."""
MOST_GROUPS = 40
"""The most rows drawn; the CSV has all."""


@dataclass(frozen=True)
class _Mark:
    """A seed in a panel."""

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
    marks: tuple[_Mark, ...]
    mean: float | None
    low: float | None
    high: float | None
    censored: int


def draw(groups: Sequence[GroupResult], name: str) -> Drawing:
    """Draw a panel per quantity and a row per group, in the given order; all must be `compared`."""
    lines = {quantity: [_line(group, quantity) for group in groups] for quantity in PANELS}
    count = min(len(groups), MOST_GROUPS)
    titles = [title(groups, quantity) for quantity in PANELS]
    ticks = seed_rows.names(wording.short_name(group.key) for group in groups[:count])
    grid = canvas.grid(
        heading(groups), titles, 1, rows_height(count, ROW, AROUND, tuple(ticks)), ticks
    )
    slots = _slots(lines["onset"])
    exceeds = False
    for position, (quantity, (axes,)) in enumerate(zip(PANELS, grid.panels, strict=True)):
        exceeds |= _panel(axes, lines[quantity][:count], quantity, slots)
        axes.set_yticks(range(count), ticks if grid.leftmost(position) else [""] * count)
        grid.label_x(axes, UNITS.get(quantity, "reward"))
    entries = _entries(slots, lines["onset"][:count])
    canvas.legend(grid.figure, {**entries, **(seed_rows.beyond_entry() if exceeds else {})})
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(groups, lines)))


def heading(groups: Sequence[GroupResult]) -> str:
    """Return what is compared, and what is not shown."""
    text = HEADING
    if len(groups) > MOST_GROUPS:
        text += f": {MOST_GROUPS} of {len(groups)} groups"
    excluded = sum(len(group.left_out) for group in groups)
    text += f"; {plural(excluded, 'unfinished run')} excluded" if excluded else ""
    without_law = sum(len(group.law_fails) for group in groups)
    text += (
        f"; without a and ceiling of {plural(without_law, 'run')} that no single law fits"
        if without_law
        else ""
    )
    return text


def _line(group: GroupResult, quantity: str) -> _Line:
    assert group.compared is not None
    estimate = group.compared.mean(quantity)
    marks = [_mark(seed, quantity) for seed in group.compared.seeds]
    return _Line(
        wording.group_name(group.key),
        tuple(mark for mark in marks if mark is not None),
        estimate.mean,
        estimate.low,
        estimate.high,
        estimate.censored,
    )


def _mark(seed: SeedNumbers, quantity: str) -> _Mark | None:
    labels = (seed.run, seed.seed)
    if quantity == "onset":
        onset = seed.reached if seed.onset is None else seed.onset
        return _Mark(*labels, onset, None, None, censored=seed.onset is None)
    value = seed.number(quantity)
    return None if value is None else _Mark(*labels, value.value, value.low, value.high, False)


def title(groups: Sequence[GroupResult], quantity: str) -> str | Title:
    """Name the quantity and its reward column, then count the pairs that differ."""
    compared = groups[0].compared
    assert compared is not None
    column_text = (
        f"on {label(compared.on)}"
        if compared.on
        else "each level on its own users (not comparable)"
    )
    ranges_of_h = "same range" if compared.shared_range else "different ranges"
    subject = {
        "a": f"a {column_text}, {ranges_of_h} of H",
        "ceiling": f"ceiling b - a {column_text}",
        "gain": f"gain of reward {column_text}",
        "fall": "fall of entropy H on visited states",
        "onset": "onset of collapse",
    }[quantity]
    finding = _decision_words(groups, quantity)
    return Title(subject, finding) if finding else subject


def _decision_words(groups: Sequence[GroupResult], quantity: str) -> str:
    """Return `1 of 3 pairs differ`; empty if no pair was tested."""
    decisions = [c.decision for g in groups for c in g.contrasts if c.quantity == quantity]
    tested = [d for d in decisions if d != "not_comparable"]
    if decisions and not tested:
        return "not comparable"
    return f"{tested.count('differs')} of {len(tested)} pairs differ" if tested else ""


def _slots(lines: Sequence[_Line]) -> dict[int | None, int]:
    """Return seed -> colour slot; the same for all if there are not enough colours."""
    seeds = {mark.seed for line in lines for mark in line.marks}
    numbered = sorted(seed for seed in seeds if seed is not None)
    if None in seeds or len(numbered) > len(canvas.COLOURS):
        return dict.fromkeys(seeds, 0)
    return {seed: slot for slot, seed in enumerate(numbered)}


def _panel(axes: Axes, lines: Sequence[_Line], quantity: str, slots: dict[int | None, int]) -> bool:
    """Draw the groups. Return whether an interval goes beyond the axis."""
    values = [mark.value for line in lines for mark in line.marks]
    ends = [end for line in lines for end in (line.mean, line.low, line.high)]
    is_onset = quantity == "onset"
    axes.set(
        xlim=(-0.03, 1.03) if is_onset else seed_rows.limits(values, ends, LEAST[quantity]),
        ylim=(len(lines) - 0.4, -0.6),
    )
    canvas.limit_ticks(axes)
    if not values:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
        axes.set_xticks([])
    exceeds = False
    for row, line in enumerate(lines):
        seed_rows.dots(axes, row, [_dot(mark, slots[mark.seed]) for mark in line.marks])
        mean = (line.mean, line.low, line.high)
        exceeds |= seed_rows.estimate(axes, row, len(line.marks), mean)
    return exceeds


def _dot(mark: _Mark, slot: int) -> Dot:
    symbol = ">" if mark.censored else canvas.marker(slot)
    return Dot(mark.value, canvas.colour(slot), symbol, hollow=mark.censored)


def _entries(slots: dict[int | None, int], lines: Sequence[_Line]) -> canvas.Legend:
    one_colour = len(set(slots.values())) < len(slots) or None in slots
    single = "one run" if None in slots else "one seed"
    entries: canvas.Legend = {
        single if one_colour else f"seed {seed}": canvas.line(
            color=canvas.colour(slot), marker=canvas.marker(slot), ls="", ms=canvas.symbol_size(5)
        )
        for seed, slot in slots.items()
    }
    if any(mark.censored for line in lines for mark in line.marks):
        entries["no onset: counted as the end of the run"] = canvas.line(
            color=canvas.INK, marker=">", mfc="none", ls="", ms=canvas.symbol_size(5)
        )
    if any(len(line.marks) >= seed_rows.FEWEST for line in lines):
        mean = "mean over seeds (weighted for a and ceiling), 95% interval"
        mean += "; no interval where seeds are unknown" if None in slots else ""
        entries[mean] = canvas.line(color=canvas.INK, marker="D", ms=canvas.symbol_size(5))
    return entries


def _rows(groups: Sequence[GroupResult], lines: dict[str, list[_Line]]) -> Iterator[dict[str, Any]]:
    for quantity, group_lines in lines.items():
        for group, line in zip(groups, group_lines, strict=True):
            assert group.compared is not None
            column = group.compared.on if QUANTITIES[quantity].on_reward else None
            common = {"quantity": quantity, "on": column, "group": line.group}
            for mark in line.marks:
                yield {
                    **common, "kind": "seed", "run": mark.run, "seed": mark.seed,
                    "value": mark.value, "low": mark.low, "high": mark.high,
                    "censored": int(mark.censored),
                }  # fmt: skip
            yield {
                **common, "kind": "mean", "value": line.mean, "low": line.low, "high": line.high,
                "censored": line.censored,
            }  # fmt: skip


def drawable(analysis: Analysis) -> list[GroupResult]:
    """Return the compared groups, from the lowest level up; empty if they have a single run."""
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
