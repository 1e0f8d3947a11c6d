"""The chart of a study: a panel per link with the difference of each pair of runs."""

from __future__ import annotations

from harness.law.compare.link_result import LinkResult
from harness.law.compare.link_tests import SIGNS
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
        (_link(result, kind, others.get(result.link.name)),)
        for result, kind in study_figure.kinds_of(outcome)
    )
    return Chart(
        study_figure.NAME, "Links and checks: the difference of each pair of runs", columns, entries
    )


def _link(result: LinkResult, kind: str, other: Interval | None) -> ChartPanel:
    link, sign = result.link, SIGNS[result.link.direction]
    net = ", net of null" if link.net_of_null else ""
    limits = study_figure.limits(result, other)
    label = f"{link_words.measured_quantity(link)}{net}: {link_words.compared_arms(link)}"
    panel_plot = Plot(
        study_figure.title(result, kind),
        axis(label, limits),
        Axis("", -0.6, 0.6, ()), 128, 12,
    )  # fmt: skip
    panel_plot.area("stated", (0.0, panel_plot.x.high) if sign > 0 else (panel_plot.x.low, 0.0))
    panel_plot.upright("grey", 0.0)
    panel_plot.upright("grey dotted", sign * link.margin)
    seeds, values = list(result.by_seed), list(result.by_seed.values())
    offsets = seed_rows.swarm(values, seed_rows.TOUCHING * (panel_plot.x.high - panel_plot.x.low))
    heights = [SEEDS_AT + HIGH * float(offset) for offset in offsets]
    panel_plot.dots("s0", values, heights, marker(0))
    panel_plot.hover(
        HoverPoints(
            "pair",
            values,
            heights,
            0,
            words=[f"seed {s}: {v:.3g}" for s, v in zip(seeds, values, strict=True)],
        )
    )
    if result.judged is not None:
        mean = result.judged
        panel_plot.line("thick ink", [mean.low, mean.high], [-0.25, -0.25])
        panel_plot.dots("ink", [mean.value], [-0.25], DIAMOND)
        panel_plot.hover(
            HoverPoints("mean", [mean.value], [-0.25], 0, words=[link_words.interval(mean, link)])
        )
    elif not values:
        panel_plot.words("note", (panel_plot.x.low + panel_plot.x.high) / 2, 0.0, "no data")
    if other is not None:
        panel_plot.line("thick grey", [other.low, other.high], [-0.45, -0.45])
        panel_plot.dots("grey", [other.value], [-0.45], DIAMOND)
        panel_plot.hover(
            HoverPoints(
                "other study", [other.value], [-0.45], 0, words=[link_words.interval(other, link)]
            )
        )
    return panel_plot.panel()
