"""Charts of groups of runs: comparisons, and inference from the seeds of a level to all seeds.

harness.report.figures selects the numbers, and also draws them as pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.law.group_results import GroupResult
from harness.law.results import Interval
from harness.report.figures import forest, ranges
from harness.report.figures.ranges import MinimumRange
from harness.report.html import plot, row_panels
from harness.report.html.plot import Chart
from harness.report.html.row_panels import MOST_ROWS, RowMean, SeedRow, mean_of
from harness.report.tables import population
from harness.report.text import wording

HEADING = "Levels over their seeds: how many follow the law, its ceiling, and when they collapse"


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
            mean_of(result.follows.share, "share"), open_shape=plot.marker(slot),
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
    columns = (
        (row_panels.panel("seeds that follow the law, share", "P(law)", follows, (-0.06, 1.06)),),
        (
            row_panels.panel(
                "ceiling b - a", "reward at H = 0", ceilings, MinimumRange(ranges.REWARD_SHARE)
            ),
        ),
        (row_panels.panel("onset of collapse", "step", onsets, (0.0, 1.03 * last)),),
    )
    entries = row_panels.legend(
        columns, "share, mean, median onset", "no onset until its last step", "law undetermined"
    )
    return Chart("levels", HEADING, columns, entries)


def _value(label: str, estimate: Interval) -> tuple[str, float, bool]:
    return f"{label}: {wording.interval(estimate)}", estimate.value, False


def _onset(label: str, onset: float | None, last_step: float) -> tuple[str, float, bool]:
    """Return label, value and openness of a seed; without an onset, the last step seen."""
    if onset is None:
        return f"{label}: none until {last_step:.3g}", last_step, True
    return f"{label}: {onset:.3g}", onset, False


def _seed_label(run: str, seed: int | None) -> str:
    return run if seed is None else f"seed {seed}"
