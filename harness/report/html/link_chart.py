"""The chart of a study: a panel per link with the difference of each pair of runs."""

from __future__ import annotations

from harness.law.compare.link_tests import SIGNS
from harness.law.compare.links import LinkResult
from harness.law.compare.study_outcome import StudyOutcome
from harness.law.results import Interval
from harness.report.figures import seed_rows
from harness.report.figures import study as study_figure
from harness.report.html import plot
from harness.report.html.axes import Axis, axis
from harness.report.html.legends import DIAMOND, DOT, SAMPLE
from harness.report.html.plot import Chart, ChartPanel, HoverPoints, LegendEntry, Plot, marker
from harness.report.text import link_words

SEEDS_AT, HIGH = 0.22, 1.2
"""Height of seeds in a panel, and scale of their offsets."""


def links(outcome: StudyOutcome) -> Chart:
    """Return the chart: for each link the pairs' differences, their mean, and the stated side."""
    entries: tuple[LegendEntry, ...] = (
        LegendEntry("dot s0", DOT + plot.MARKERS[0], "one seed"),
        LegendEntry("dot ink", DOT + DIAMOND, "mean"),
        LegendEntry("line thick ink", SAMPLE, "95% interval"),
        LegendEntry("band stated", "M2 2h16v10h-16z", "what the link states"),
        LegendEntry("line grey dotted", SAMPLE, "the smallest difference that matters"),
    )
    others = study_figure.effects_of_other_study(outcome)
    if others:
        entries = (*entries, LegendEntry("line thick grey", SAMPLE, study_figure.OTHER))
    columns = tuple(
        (_link(judged, kind, others.get(judged.link.name)),)
        for judged, kind in study_figure.kinds_of(outcome)
    )
    return Chart(
        study_figure.NAME, "Links and checks: the difference of each pair of runs", columns, entries
    )


def _link(judged: LinkResult, kind: str, other: Interval | None) -> ChartPanel:
    link, sign = judged.link, SIGNS[judged.link.direction]
    net = ", net of null" if link.net_of_null else ""
    limits = study_figure.limits(judged, other)
    label = f"{link_words.measured_quantity(link)}{net}: {link_words.compared_arms(link)}"
    made = Plot(
        study_figure.title(judged, kind),
        axis(label, limits),
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
        HoverPoints(
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
            HoverPoints("mean", [mean.value], [-0.25], 0, words=[link_words.interval(mean, link)])
        )
    elif not at:
        made.words("note", (made.x.low + made.x.high) / 2, 0.0, "no data")
    if other is not None:
        made.line("thick grey", [other.low, other.high], [-0.45, -0.45])
        made.dots("grey", [other.value], [-0.45], DIAMOND)
        made.hover(
            HoverPoints(
                "other study", [other.value], [-0.45], 0, words=[link_words.interval(other, link)]
            )
        )
    return made.panel()
