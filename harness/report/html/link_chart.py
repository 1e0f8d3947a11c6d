"""The chart of a study: a panel per link with the difference of each pair of runs."""

from __future__ import annotations

from harness.law.compare.link_tests import SIGNS
from harness.law.compare.links import Judged
from harness.law.compare.study_outcome import Outcome
from harness.law.results import Interval
from harness.report.figures import seed_rows
from harness.report.figures import study as study_figure
from harness.report.html import plot
from harness.report.html.axes import Axis, axis
from harness.report.html.legends import DIAMOND, DOT, SAMPLE
from harness.report.html.plot import Chart, Entry, Hovered, Panel, Plot, marker
from harness.report.text import link_words

SEEDS_AT, HIGH = 0.22, 1.2
"""Height of seeds in a panel, and scale of their offsets."""


def links(outcome: Outcome) -> Chart:
    """Return the chart: for each link the pairs' differences, their mean, and the stated side."""
    entries: tuple[Entry, ...] = (
        Entry("dot s0", DOT + plot.MARKERS[0], "one seed"),
        Entry("dot ink", DOT + DIAMOND, "mean"),
        Entry("line thick ink", SAMPLE, "95% interval"),
        Entry("band stated", "M2 2h16v10h-16z", "what the link states"),
        Entry("line grey dotted", SAMPLE, "the smallest difference that matters"),
    )
    others = study_figure.others_of(outcome)
    if others:
        entries = (*entries, Entry("line thick grey", SAMPLE, study_figure.OTHER))
    columns = tuple(
        (_link(judged, kind, others.get(judged.link.name)),)
        for judged, kind in study_figure.kinds_of(outcome)
    )
    return Chart(
        study_figure.NAME, "Links and checks: the difference of each pair of runs", columns, entries
    )


def _link(judged: Judged, kind: str, other: Interval | None) -> Panel:
    link, sign = judged.link, SIGNS[judged.link.direction]
    net = ", net of null" if link.net_of_null else ""
    limits = study_figure.limits(judged, other)
    made = Plot(
        study_figure.title(judged, kind),
        axis(f"{link_words.measured(link)}{net}: {link_words.compared(link)}", limits),
        Axis("", -0.6, 0.6, ()), 128, 12,
    )  # fmt: skip
    made.area("stated", (0.0, made.x.high) if sign > 0 else (made.x.low, 0.0))
    made.upright("grey", 0.0)
    made.upright("grey dotted", sign * link.margin)
    seeds, at = list(judged.by_seed), list(judged.by_seed.values())
    apart = seed_rows.swarm(at, seed_rows.TOUCHING * (made.x.high - made.x.low))
    heights = [SEEDS_AT + HIGH * float(offset) for offset in apart]
    made.dots("s0", at, heights, marker(0))
    made.hover(
        Hovered(
            "pair",
            at,
            heights,
            0,
            words=[f"seed {s}: {v:.3g}" for s, v in zip(seeds, at, strict=True)],
        )
    )
    if judged.judged is not None:
        mean = judged.judged
        made.line("thick ink", [mean.low, mean.high], [-0.25, -0.25])
        made.dots("ink", [mean.value], [-0.25], DIAMOND)
        made.hover(
            Hovered("mean", [mean.value], [-0.25], 0, words=[link_words.interval(mean, link)])
        )
    elif not at:
        made.words("note", (made.x.low + made.x.high) / 2, 0.0, "no data")
    if other is not None:
        made.line("thick grey", [other.low, other.high], [-0.45, -0.45])
        made.dots("grey", [other.value], [-0.45], DIAMOND)
        made.hover(
            Hovered(
                "other study", [other.value], [-0.45], 0, words=[link_words.interval(other, link)]
            )
        )
    return made.panel()
