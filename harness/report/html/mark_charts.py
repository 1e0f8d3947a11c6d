"""Charts of single runs: onset against measured difficulty, reward against listening.

harness.report.figures selects the numbers, and also draws them as pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.results import Interval
from harness.report.figures import onset_by_difficulty, reward_by_listening
from harness.report.figures.onset_by_difficulty import MEASURES, NO_ONSET
from harness.report.figures.ranges import Limits
from harness.report.figures.reward_by_listening import ListeningPoint as Heard
from harness.report.html import plot
from harness.report.html.axes import Axis, axis
from harness.report.html.legends import DOT, SAMPLE, SWATCH, entries_of_names
from harness.report.html.plot import Chart, ChartPanel, HoverPoints, LegendEntry, Plot, css, marker
from harness.report.text import wording


def by_difficulty(marks: Sequence[onset_by_difficulty.OnsetPoint]) -> Chart:
    """Return the onset of collapse against the measured difficulty of the level."""
    order = sorted(marks, key=lambda mark: -mark.difficulty["population_final_emotion"].value)
    names = list(dict.fromkeys(mark.level for mark in order))
    columns = []
    heights = (*((v, f"{v:g}") for v in (0.0, 0.25, 0.5, 0.75, 1.0)), (NO_ONSET, "none"))
    for measure, title in MEASURES.items():
        limits, width = onset_by_difficulty.frame(marks, measure)
        panel_plot = Plot(
            title, axis(title, limits),
            Axis("onset, share of the run", 0.0, onset_by_difficulty.TOP, heights),
        )  # fmt: skip
        for (level, card), level_marks in onset_by_difficulty.by_card(marks, measure).items():
            rows = onset_by_difficulty.side_by_side(level_marks, limits, width)
            placed = [(mark, card.value + shift) for row in rows for mark, shift in row]
            _level_marks(panel_plot, placed, card, names.index(level))
        columns.append((panel_plot.panel(),))
    null_entry = LegendEntry("dot ink hollow", DOT + plot.MARKERS[0], "null control")
    entries = (
        *([null_entry] if any(mark.null_control for mark in marks) else []),
        LegendEntry("line thin ink", SAMPLE, "onset, 95% interval"),
        LegendEntry("band ink", SWATCH, "difficulty of the level, 95% interval"),
    )
    return Chart(
        "onset_by_difficulty", onset_by_difficulty.HEADING, tuple(columns),
        (*entries_of_names(names), *entries),
    )  # fmt: skip


def _level_marks(
    panel_plot: Plot,
    placed: Sequence[tuple[onset_by_difficulty.OnsetPoint, float]],
    card: Interval,
    slot: int,
) -> None:
    """Draw the runs of a level, each with its place on the axis."""
    panel_plot.area(css(slot), (card.low, card.high))
    heights, words = [], []
    for mark, x in placed:
        y = onset_by_difficulty.height(mark)
        if mark.low is not None and mark.high is not None:
            panel_plot.line(f"thin {css(slot)}", [x, x], [mark.low, mark.high])
        panel_plot.dots(f"{css(slot)}{' hollow' * mark.null_control}", [x], [y], marker(slot))
        onset = "no onset" if mark.onset is None else f"onset at {mark.onset:.2f} of the run"
        heights.append(y)
        words.append(f"{mark.run}: {onset}; {wording.interval(card)}")
    points = [x for _, x in placed]
    panel_plot.hover(HoverPoints(placed[0][0].level, points, heights, slot, words=words))


def by_listening(marks: Sequence[Heard]) -> Chart:
    """Return reward against listening of policies, with the references of their level."""
    names = list(dict.fromkeys(mark.level for mark in marks))
    limits = reward_by_listening.frame(marks)
    columns = tuple(
        (_listening(level, [mark for mark in marks if mark.level == level], slot, limits),)
        for slot, level in enumerate(names)
    )
    anchors = [mark.end.anchors for mark in marks]
    hollow = any(mark.verdict in reward_by_listening.WORDS for mark in marks)
    possible = (
        (hollow, "dot ink hollow", DOT + plot.MARKERS[0], "does not listen (template or deaf)"),
        (
            any(anchor.attentive for anchor in anchors),
            "dot ink",
            DOT + plot.STAR,
            "attentive reference",
        ),
        (any(anchor.deaf for anchor in anchors), "line grey dashed", SAMPLE, "best deaf schedule"),
        (any(anchor.optimum for anchor in anchors), "line grey dotted", SAMPLE, "optimum"),
    )
    entries = [
        LegendEntry(classes, mark, words) for is_drawn, classes, mark, words in possible if is_drawn
    ]
    return Chart(
        "reward_by_listening",
        reward_by_listening.HEADING,
        columns,
        (*entries_of_names(names), *entries),
    )


def _listening(
    level: str, marks: Sequence[Heard], slot: int, limits: tuple[Limits, Limits]
) -> ChartPanel:
    anchors = next((m.end.anchors for m in marks if m.end.anchors.deaf), marks[0].end.anchors)
    measured = [
        (mark, mark.end.listening, mark.end.reward)
        for mark in marks
        if mark.end.listening is not None and mark.end.reward is not None
    ]
    star = (anchors.attentive_listening, anchors.attentive)
    x_limits, y_limits = limits
    panel_plot = Plot(level, axis("listening, nats", x_limits), axis("reward", y_limits))
    for reference, kind in ((anchors.deaf, "dashed"), (anchors.optimum, "dotted")):
        if reference is not None:
            panel_plot.across(f"grey {kind}", reference.value)
    if star[0] is not None and star[1] is not None:
        panel_plot.dots("ink", [star[0]], [star[1].value], plot.STAR)
    for mark, x, y in measured:
        hollow = " hollow" * (mark.verdict in reward_by_listening.WORDS)
        panel_plot.dots(f"{css(slot)}{hollow}", [x], [y], marker(slot))
    words = [f"{mark.run}: reward {y:.3g}, listening {x:.3g}" for mark, x, y in measured]
    panel_plot.hover(
        HoverPoints(
            level, [x for _, x, _ in measured], [y for _, _, y in measured], slot, words=words
        )
    )
    return panel_plot.panel()
