"""Listening and reward of policies, compared with the reference policies of their level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.law.group_results import Analysis
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import RunResult
from harness.records.outcomes import OWN
from harness.report.figures import canvas, ranges
from harness.report.figures.canvas import Drawing, Limits, colour, label
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.figures.ranges import MinimumRange
from harness.report.text import naming

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

COLUMNS = (
    "run", "level", "listening", "reward", "deaf_reward", "policy_verdict", "deaf_schedule",
    "attentive", "attentive_listening", "optimum",
)  # fmt: skip
HEADING = "Reward against listening at the end of each run"
LINES: dict[str, tuple[str, str]] = {
    "deaf": ("best deaf schedule", "--"), "optimum": ("optimum", ":")
}  # fmt: skip
"""Field of the anchors -> its entry in the legend, and its line style."""
WORDS = {"template": "template: diverse and deaf", "deaf": "deaf"}
"""Verdict on a policy that does not listen -> its entry in the legend."""
FILLS: dict[str | None, dict[str, Any]] = {
    "template": {"fillstyle": "bottom", "markerfacecoloralt": "white"}, "deaf": {"mfc": "white"}
}  # fmt: skip
"""Verdict -> fill of a run's symbol: half, or none."""


@dataclass(frozen=True)
class ListeningPoint:
    """A run at its own level."""

    run: str
    level: str
    end: Yardsticks
    verdict: str | None


def draw(marks: Sequence[ListeningPoint], name: str) -> Drawing:
    """Draw one panel per level.

    A run is a point, which is half filled or not filled if its policy does not listen. A star is
    the attentive reference.
    """
    levels = list(dict.fromkeys(mark.level for mark in marks))
    grid = canvas.grid(HEADING, [label(level, canvas.LONGEST_GROUP) for level in levels], 1, 3.0)
    listening, rewards = frame(marks)
    for position, (level, (axes,)) in enumerate(zip(levels, grid.panels, strict=True)):
        _panel(axes, [mark for mark in marks if mark.level == level])
        axes.set(xlim=listening, ylim=rewards)
        axes.tick_params(labelleft=grid.leftmost(position))
        grid.label_x(axes, "listening, nats")
        if grid.leftmost(position):
            grid.label_y(axes, "reward")
    canvas.legend(grid.figure, _entries(marks))
    return Drawing(name, grid.figure, COLUMNS, tuple(_row(mark) for mark in marks))


def frame(marks: Sequence[ListeningPoint]) -> tuple[Limits, Limits]:
    """Return the limits of listening and reward that all panels share."""
    listening = [0.0, *(mark.end.listening for mark in marks)]
    listening += [mark.end.anchors.attentive_listening for mark in marks]
    rewards = [mark.end.reward for mark in marks]
    for mark in marks:
        anchors = (getattr(mark.end.anchors, field) for field in (*LINES, "attentive"))
        rewards += [anchor.value for anchor in anchors if anchor is not None]
    listening_values, reward_values = (
        np.array(values, dtype=float) for values in (listening, rewards)
    )
    return (
        canvas.limits([listening_values], least=MinimumRange(ranges.LISTENING_NATS)),
        canvas.limits([reward_values], least=MinimumRange(ranges.REWARD_SHARE)),
    )


def _panel(axes: Axes, marks: Sequence[ListeningPoint]) -> None:
    anchors = _anchors(marks)
    for field, (_, line) in LINES.items():
        reference = getattr(anchors, field)
        if reference is not None:
            axes.axhline(reference.value, color=canvas.GREY, lw=1, ls=line)
    if anchors.attentive is not None and anchors.attentive_listening is not None:
        axes.plot(
            anchors.attentive_listening, anchors.attentive.value, "*", color=canvas.INK,
            ms=canvas.symbol_size(12), mec="white", mew=0.5, zorder=3,
        )  # fmt: skip
    for mark in marks:
        axes.plot(
            [np.nan if mark.end.listening is None else mark.end.listening],
            [np.nan if mark.end.reward is None else mark.end.reward],
            "o", color=colour(0), mec=colour(0), ms=canvas.symbol_size(5), mew=0.8,
            **FILLS.get(mark.verdict, {}),
        )  # fmt: skip


def _anchors(marks: Sequence[ListeningPoint]) -> AnchorRewards:
    """Return the anchors of the level, from the first run that knows its deaf schedule."""
    anchors = (mark.end.anchors for mark in marks if mark.end.anchors.deaf is not None)
    return next(anchors, marks[0].end.anchors)


def _entries(marks: Sequence[ListeningPoint]) -> canvas.Legend:
    properties: dict[str, Any] = {
        "ls": "",
        "marker": "o",
        "color": colour(0),
        "mec": colour(0),
        "ms": canvas.symbol_size(6),
    }
    run_entry = "run that listens" if any(mark.verdict in WORDS for mark in marks) else "run"
    entries: canvas.Legend = {run_entry: canvas.line(**properties)}
    for word, meaning in WORDS.items():
        if any(mark.verdict == word for mark in marks):
            entries[meaning] = canvas.line(**properties, **FILLS[word])
    for field, (meaning, line) in LINES.items():
        if any(getattr(mark.end.anchors, field) is not None for mark in marks):
            entries[meaning] = canvas.line(color=canvas.GREY, ls=line)
    if any(mark.end.anchors.attentive is not None for mark in marks):
        entries["attentive reference"] = canvas.line(
            ls="", marker="*", color=canvas.INK, ms=canvas.symbol_size(8)
        )
    return entries


def _row(mark: ListeningPoint) -> dict[str, Any]:
    end, anchors = mark.end, mark.end.anchors
    return {
        "run": mark.run,
        "level": mark.level,
        "listening": end.listening,
        "reward": end.reward,
        "deaf_reward": end.deaf_reward,
        "policy_verdict": mark.verdict,
        "deaf_schedule": anchors.deaf.value if anchors.deaf else None,
        "attentive": anchors.attentive.value if anchors.attentive else None,
        "attentive_listening": anchors.attentive_listening,
        "optimum": anchors.optimum.value if anchors.optimum else None,
    }


def listening_points(analysis: Analysis, runs: Sequence[RunResult]) -> tuple[ListeningPoint, ...]:
    """Return the runs whose listening was measured, by level from the lowest up."""
    names, points = naming.names(analysis), []
    for members in naming.by_level(analysis, runs).values():
        for run in members:
            end = (run.yardsticks or {}).get(OWN)
            if end is not None and end.listening is not None:
                level = naming.level_of(analysis, run)
                points.append(ListeningPoint(names[run.run], level, end, run.policy_verdict))
    return tuple(points)


def _select(subject: Subject) -> Iterator[tuple[str, tuple[ListeningPoint, ...]]]:
    analysis = subject.analysis
    selected = listening_points(analysis, analysis.runs_in_means(analysis.readable_runs))
    if selected:
        yield "", selected


FIGURE = FigureSpec(
    "reward_by_listening",
    "Reward against listening at the end of each run, with the reference policies.",
    _select,
    draw,
)
