"""Onset of collapse against the measured difficulty of the level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.group_results import Analysis
from harness.law.io.identity import share_of_run
from harness.law.results import Interval, RunResult
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import Drawing, Limits, colour, label, marker
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.figures.ranges import MinimumRange
from harness.report.text import naming

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes


MEASURES = {
    "acceptance": "acceptance of fixed replies",
    "need_expression": "need expression",
    "population_final_emotion": "mean final emotion with supporters that never learn",
}
UNITS = {
    "acceptance": "share of replies",
    "need_expression": "share of replies",
    "population_final_emotion": "emotion, 0 to 100",
}
COLUMNS = (
    "measure", "run", "level", "null_control", "difficulty", "difficulty_low", "difficulty_high",
    "onset_share", "onset_low", "onset_high",
)  # fmt: skip
HEADING = "Onset of collapse against measured difficulty: harder to the left"
NO_ONSET = 1.07
"""Height around which runs without an onset are drawn, above the end of the run."""
ROW_APART, TOP = 0.02, 1.14
"""Distance of their two rows from that height, and upper end of the axis."""
BESIDE, ALONE = 0.6, 0.3
"""Width for the runs of a level: as a share of the distance to the next level, and of the axis if
there is only one level.
"""
CLOSE = 0.03
"""Distance between two runs of a level, as a share of the axis, if all of them have room."""
SMALL = 12
"""If more runs than this are side by side, their symbols are small."""
LEAST = {
    "acceptance": MinimumRange(ranges.REPLIES),
    "need_expression": MinimumRange(ranges.REPLIES),
    "population_final_emotion": MinimumRange(ranges.EMOTION),
}


def draw(marks: Sequence[OnsetPoint], name: str) -> Drawing:
    """Draw one panel per measure. A run is a point; null controls are hollow."""
    easiest_first = sorted(marks, key=lambda m: -m.difficulty["population_final_emotion"].value)
    levels = list(dict.fromkeys(mark.level for mark in easiest_first))
    grid = canvas.grid(HEADING, list(MEASURES.values()), 1, 3.0)
    for position, (measure, (axes,)) in enumerate(zip(MEASURES, grid.panels, strict=True)):
        _panel(axes, marks, measure, levels)
        grid.label_x(axes, UNITS[measure])
        axes.tick_params(labelleft=grid.leftmost(position))
        if grid.leftmost(position):
            grid.label_y(axes, "onset, share of the run")
    canvas.legend(grid.figure, _entries(levels, marks))
    return Drawing(name, grid.figure, COLUMNS, tuple(_rows(marks)))


def _panel(axes: Axes, marks: Sequence[OnsetPoint], measure: str, levels: Sequence[str]) -> None:
    limits, width = frame(marks, measure)
    for (level, card), level_marks in by_card(marks, measure).items():
        slot = levels.index(level)
        axes.axvspan(card.low, card.high, color=colour(slot), alpha=0.1, lw=0, zorder=0)
        for row in side_by_side(level_marks, limits, width):
            for mark, shift in row:
                _symbol(axes, mark, card.value + shift, slot, len(row))
    axes.axhline(1, color=canvas.GREY, lw=0.8, ls=":")
    axes.set_xlim(*limits)
    axes.set_ylim(0, TOP)
    axes.set_yticks([0, 0.25, 0.5, 0.75, NO_ONSET], ["0", "0.25", "0.5", "0.75", "none"])
    canvas.limit_ticks(axes)


def frame(marks: Sequence[OnsetPoint], measure: str) -> tuple[Limits, float]:
    """Return the limits of the axis, and the width on it for the runs of a level."""
    values = np.array([[card.low, card.value, card.high] for _, card in by_card(marks, measure)])
    low, high = canvas.limits([values.ravel()], least=LEAST[measure])
    positions = np.unique(values[:, 1])
    width = BESIDE * float(np.diff(positions).min()) if len(positions) > 1 else ALONE * (high - low)
    edge = 0.55 * width
    return (min(low, values[:, 1].min() - edge), max(high, values[:, 1].max() + edge)), width


def by_card(
    marks: Sequence[OnsetPoint], measure: str
) -> dict[tuple[str, Interval], list[OnsetPoint]]:
    """Return the runs of each card: a level has several if its users or their settings differ."""
    cards: dict[tuple[str, Interval], list[OnsetPoint]] = {}
    for mark in marks:
        cards.setdefault((mark.level, mark.difficulty[measure]), []).append(mark)
    return cards


def side_by_side(
    marks: Sequence[OnsetPoint], limits: Limits, width: float
) -> Iterator[list[tuple[OnsetPoint, float]]]:
    """Yield the runs of a level to draw side by side, each with its distance from the level: those
    with an onset, then those without in two rows.

    In a single row, many runs without an onset would hide each other.
    """
    with_onset = sorted((m for m in marks if m.onset is not None), key=lambda m: m.null_control)
    without_onset = [m for m in marks if m.onset is None]
    controls = [m for m in without_onset if m.null_control]
    for row in (with_onset, [m for m in without_onset if not m.null_control], controls):
        spacing = min(width / max(len(row), 1), CLOSE * (limits[1] - limits[0]))
        yield [(m, spacing * (index - (len(row) - 1) / 2)) for index, m in enumerate(row)]


def height(mark: OnsetPoint) -> float:
    """Return the height at which a run is drawn; without an onset, null controls are above."""
    if mark.onset is not None:
        return mark.onset
    return NO_ONSET + (ROW_APART if mark.null_control else -ROW_APART)


def _symbol(axes: Axes, mark: OnsetPoint, x: float, slot: int, count: int) -> None:
    """Draw a run with the interval of its onset."""
    if mark.low is not None and mark.high is not None:
        axes.plot([x, x], [mark.low, mark.high], color=colour(slot), lw=0.8, alpha=0.6)
    axes.plot(
        x, height(mark), marker(slot), mfc="white" if mark.null_control else colour(slot),
        mec=colour(slot), ms=canvas.symbol_size(3.0 if count > SMALL else 5), mew=0.6,
    )  # fmt: skip


def _entries(levels: Sequence[str], marks: Sequence[OnsetPoint]) -> canvas.Legend:
    entries: canvas.Legend = {
        label(level): canvas.line(ls="", marker=marker(slot), color=colour(slot))
        for slot, level in enumerate(levels)
    }
    if any(mark.null_control for mark in marks):
        entries["null control"] = canvas.line(ls="", marker="o", mfc="none", mec=canvas.INK)
    entries["onset, 95% interval"] = canvas.line(color=canvas.INK, lw=0.8)
    entries["difficulty of the level, 95% interval"] = canvas.patch(
        color=canvas.INK, alpha=0.1, lw=0
    )
    return entries


def _rows(marks: Sequence[OnsetPoint]) -> Iterator[dict[str, Any]]:
    for measure in MEASURES:
        for mark in marks:
            value = mark.difficulty[measure]
            yield {
                "measure": measure,
                "run": mark.run,
                "level": mark.level,
                "null_control": mark.null_control,
                "difficulty": value.value,
                "difficulty_low": value.low,
                "difficulty_high": value.high,
                "onset_share": mark.onset,
                "onset_low": mark.low,
                "onset_high": mark.high,
            }


@dataclass(frozen=True)
class OnsetPoint:
    """A run."""

    run: str
    level: str
    null_control: bool
    difficulty: Mapping[str, Interval]
    """Measure of the difficulty card -> its value."""
    onset: float | None
    """Onset of collapse as a share of the run; None if there is none."""
    low: float | None
    high: float | None


def onset_points(analysis: Analysis, runs: Sequence[RunResult]) -> tuple[OnsetPoint, ...]:
    """Return the runs whose level has a card; empty if all cards are equal or no run collapses."""
    names = naming.names(analysis)
    measured = [_mark(analysis, run, names[run.run]) for run in runs if run.difficulty is not None]
    distinct = {str(mark.difficulty) for mark in measured}
    has_onset = any(mark.onset is not None for mark in measured)
    return tuple(measured) if has_onset and len(distinct) > 1 else ()


def _mark(analysis: Analysis, run: RunResult, name: str) -> OnsetPoint:
    steps, onset = analysis.series[run.run].course_steps, run.onset
    first, last = float(steps[0]), float(steps[-1])
    shares: list[float | None] = [None] * 3
    if onset is not None and onset.is_collapse:
        ends = (onset.step, onset.low, onset.high)
        shares = [share_of_run(run.config, first, last, end) for end in ends]
    assert run.difficulty is not None
    return OnsetPoint(name, run.level or "", _is_null_control(run), run.difficulty, *shares)


def _is_null_control(run: RunResult) -> bool:
    return run.setting("algorithm", "null_control") is True


def _select(subject: Subject) -> Iterator[tuple[str, tuple[OnsetPoint, ...]]]:
    analysis = subject.analysis
    selected = onset_points(analysis, analysis.runs_in_means(analysis.readable_runs))
    if selected:
        yield "", selected


FIGURE = FigureSpec(
    "onset_by_difficulty",
    "Onset of collapse against the measured difficulty of the level.",
    _select,
    draw,
)
