"""Charts of groups of runs: comparisons, and inference from the seeds of a level to all seeds.

harness.report.figures selects the numbers, and also draws them as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from harness.law.group_results import GroupResult
from harness.law.population_results import LawShare, Population
from harness.law.results import Interval
from harness.report.figures import forest, ranges, seed_rows
from harness.report.figures import population as levels_figure
from harness.report.figures.ranges import Limits, MinimumRange
from harness.report.html import plot, row_panels
from harness.report.html.axes import axis
from harness.report.html.legends import SAMPLE
from harness.report.html.plot import Chart, ChartPanel, HoverPoints, LegendEntry, Plot, css, stairs
from harness.report.html.row_panels import MOST_ROWS, RowMean, SeedRow, mean_of
from harness.report.tables import population
from harness.report.text import wording

Level: TypeAlias = tuple[int, str, Population]
"""Slot, name and numbers over seeds of a level."""


def comparison_chart(groups: Sequence[GroupResult]) -> Chart:
    """Return the groups by each quantity in which they are compared."""
    shown_groups = groups[: forest.MOST_GROUPS]
    columns = []
    for quantity in forest.PANELS:
        rows = []
        for slot, group in enumerate(shown_groups):
            numbers = group.compared
            if numbers is None:
                continue
            over_seeds = numbers.mean(quantity)
            mean = (
                None
                if over_seeds.mean is None
                else RowMean(over_seeds.mean, over_seeds.low, over_seeds.high)
            )
            rows.append(SeedRow(population.name(group), slot, list(_seeds(group, quantity)), mean))
        limits = (-0.03, 1.06) if quantity == "onset" else forest.LEAST[quantity]
        title, unit = str(forest.title(groups, quantity)), forest.UNITS.get(quantity, "reward")
        columns.append((row_panels.panel(title, unit, rows, limits),))
    entries = row_panels.legend(
        columns,
        "mean over seeds (weighted for a and ceiling)",
        "no onset: counted as the end of the run",
    )
    return Chart("forest", forest.heading(groups), tuple(columns), entries)


def _seeds(group: GroupResult, quantity: str) -> Iterator[tuple[str, float, bool]]:
    assert group.compared is not None
    for seed in group.compared.seeds:
        seed_label = _seed_label(seed.run, seed.seed)
        if quantity == "onset":
            yield _onset(seed_label, seed.onset, seed.reached)
        elif (value := seed.number(quantity)) is not None:
            yield _value(seed_label, value)


def levels_chart(groups: Sequence[GroupResult]) -> Chart:
    """Return the chart of each level over its seeds."""
    shown_groups = groups[:MOST_ROWS]
    levels = [
        (slot, population.name(group), population.population_of(group))
        for slot, group in enumerate(shown_groups)
    ]
    follows = [
        SeedRow(
            name, slot,
            [*[("follows the law", 1.0, False)] * result.follows.followers,
             *[("does not follow the law", 0.0, False)] * result.follows.others,
             *[(f"undetermined: {result.follows.undetermined}", 0.5, True)]
             * result.follows.undetermined],
            mean_of(result.follows.share, "share") if _is_estimated(result.follows) else None,
            open_shape=plot.marker(slot),
        )
        for slot, name, result in levels
    ]  # fmt: skip
    ceilings = [
        SeedRow(
            name, slot,
            [_value(_seed_label(run.run, run.seed), run.own) for run in result.law.ceiling.runs],
            mean_of(result.law.ceiling.mean),
            population.WHY.get(result.law.ceiling.why or "", "not known"),
        )
        for slot, name, result in levels
    ]  # fmt: skip
    onsets = [
        SeedRow(
            name, slot,
            [
                _onset(
                    _seed_label(run.run, run.seed), run.step if run.collapsed else None, run.step
                )
                for run in result.onset.runs
            ],
            mean_of(result.onset.parametric.median, "median"),
        )
        for slot, name, result in levels
    ]  # fmt: skip
    last = max((result.onset.last_step or 1.0 for _, _, result in levels), default=1.0)
    over_steps = (0.0, 1.03 * last)
    share, ceiling, onset, _ = levels_figure.titles(groups)
    least = MinimumRange(ranges.REWARD_SHARE)
    columns = (
        (row_panels.panel(share, "P(law)", follows, (-0.06, 1.06)),),
        (row_panels.panel(ceiling, "reward at H = 0", ceilings, least),),
        (row_panels.panel(onset, "step", onsets, over_steps),),
    )
    entries = row_panels.legend(
        columns, "share, mean, median onset", "no onset until its last step", "law undetermined"
    )
    curves = (_collapsed(groups, levels, over_steps),)
    heading = levels_figure.heading(groups)
    return Chart("levels", heading, (*columns, curves), (*_names(levels), *entries))


def _is_estimated(follows: LawShare) -> bool:
    """Return whether there are seeds enough for an estimate, of those that are decided."""
    return follows.followers + follows.others >= seed_rows.FEWEST


def _names(levels: Sequence[Level]) -> Iterator[LegendEntry]:
    """Yield an entry for each curve; a single one needs no name."""
    if 1 < len(levels) <= levels_figure.MOST_CURVES:
        for slot, name, _ in levels:
            yield LegendEntry(f"line {css(slot)}", SAMPLE, name, slot)


def _collapsed(
    groups: Sequence[GroupResult], levels: Sequence[Level], over_steps: Limits
) -> ChartPanel:
    """Return the share of seeds of each level that have collapsed, by the step."""
    panel_plot = Plot(
        levels_figure.titles(groups)[-1],
        axis("step", over_steps), axis(levels_figure.COLLAPSE, (-0.02, 1.02)),
    )  # fmt: skip
    if len(levels) > levels_figure.MOST_CURVES:
        too_many = levels_figure.TOO_MANY.replace("\n", " ")
        panel_plot.words("note", sum(over_steps) / 2, 0.5, too_many)
        return panel_plot.panel()
    for slot, name, result in levels:
        onset = result.onset
        if onset.incidence and onset.last_step is not None:
            steps, value, low, high = levels_figure.staircase(onset, onset.last_step)
            if len(levels) <= levels_figure.MOST_BANDS:
                panel_plot.band(css(slot), *stairs(steps, low, high))
            panel_plot.line(css(slot), steps, value, stepped=True)
            panel_plot.hover(HoverPoints(name, steps, value, slot))
    return panel_plot.panel()


def _value(label: str, estimate: Interval) -> tuple[str, float, bool]:
    return f"{label}: {wording.interval(estimate)}", estimate.value, False


def _onset(label: str, onset: float | None, last_step: float) -> tuple[str, float, bool]:
    """Return label, value and openness of a seed; without an onset, the last step seen."""
    if onset is None:
        return f"{label}: none until {last_step:.3g}", last_step, True
    return f"{label}: {onset:.3g}", onset, False


def _seed_label(run: str, seed: int | None) -> str:
    return run if seed is None else f"seed {seed}"
