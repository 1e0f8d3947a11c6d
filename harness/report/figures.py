"""Which figures an analysis gets: every run up to 24 of them, medians over runs beyond."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.results import Analysis, RunResult
from harness.report import (
    canvas,
    figure_curves,
    figure_forest,
    figure_groups,
    figure_law,
    figure_residuals,
    naming,
    pools,
    traces,
)
from harness.report.canvas import AxisNames, Drawing
from harness.report.figure_text import label
from harness.report.wording import plural

MOST_RUNS = 24
"""More runs in one figure hide each other."""
LAW, CURVES, RESIDUALS = "entropy_law", "entropy_curves", "residuals"
FOREST = "forest"
HEADINGS = {
    LAW: figure_law.HEADING,
    CURVES: figure_curves.HEADING,
    RESIDUALS: figure_residuals.HEADING,
}


def draw(analysis: Analysis, every_run: bool) -> list[Drawing]:
    """The figures; `every_run` adds pages of MOST_RUNS runs to the medians of a large analysis.

    An analysis without a single readable run gets figures that say so.
    """
    with canvas.styled():
        readable = [run for run in analysis.runs if run.run in analysis.series]
        if not readable:
            return [_empty(analysis, name) for name in HEADINGS]
        compared = figure_forest.drawable(analysis)
        forest = [figure_forest.draw(compared, FOREST)] if compared else []
        if len(readable) <= MOST_RUNS:
            return _of_runs(analysis, readable, "") + forest
        drawings = _of_groups(analysis, readable) + forest
        if every_run:
            for number, page in enumerate(_pages(analysis, readable), 1):
                drawings += _of_runs(analysis, page, f"_{number}")
        return drawings


def axis_names(runs: Sequence[RunResult]) -> AxisNames:
    """The axes' labels with units; what differs between the runs is left out."""
    kinds = {_policy_kind(run) for run in runs}
    unit = (
        {"tabular": " per act", None: ""}.get(kinds.pop(), " per token") if len(kinds) == 1 else ""
    )
    columns = {run.reward for run in runs}
    column = columns.pop() if len(columns) == 1 else None
    reward = f"empathy reward R ({label(column)})" if column else "empathy reward R"
    return AxisNames(f"policy entropy H (nats{unit})", reward)


def _policy_kind(run: RunResult) -> str | None:
    policy = (run.config or {}).get("policy")
    kind = policy.get("kind") if isinstance(policy, dict) else None
    return kind if isinstance(kind, str) else None


def _of_runs(analysis: Analysis, runs: Sequence[RunResult], page: str) -> list[Drawing]:
    panels, names = traces.panels(analysis, runs), axis_names(runs)
    return [
        figure_law.draw(panels, f"{LAW}{page}", names),
        figure_curves.draw(panels, f"{CURVES}{page}", names),
        figure_residuals.draw(panels, f"{RESIDUALS}{page}", names),
    ]


def _of_groups(analysis: Analysis, runs: Sequence[RunResult]) -> list[Drawing]:
    panels, names = pools.panels(analysis, runs), axis_names(runs)
    return [
        figure_groups.draw_law(panels, LAW, names),
        figure_groups.draw_curves(panels, CURVES, names),
        figure_residuals.draw_pools(panels, RESIDUALS, names),
    ]


def _pages(analysis: Analysis, runs: Sequence[RunResult]) -> list[list[RunResult]]:
    """At most MOST_RUNS runs each; a level is split over pages only where it fills one alone."""
    pages: list[list[RunResult]] = [[]]
    for members in naming.by_level(analysis, runs).values():
        for start in range(0, len(members), MOST_RUNS):
            part = members[start : start + MOST_RUNS]
            if len(pages[-1]) + len(part) > MOST_RUNS:
                pages.append([])
            pages[-1] += part
    return pages


def _empty(analysis: Analysis, name: str) -> Drawing:
    """A picture that says why there is none."""
    reasons = [run.error.message for run in analysis.runs if run.error is not None]
    first = f" The first: {label(reasons[0], 200)}" if reasons else ""
    count = plural(len(analysis.runs), "run")
    sentence = f"Nothing to draw: of {count}, none could be read.{first}"
    grid = canvas.grid(HEADINGS[name], [sentence], 1, 0.2)
    grid.panels[0][0].set_axis_off()
    columns = ("run", "reason")
    rows = ({"run": run.run, "reason": run.error and run.error.message} for run in analysis.runs)
    return Drawing(name, grid.figure, columns, tuple(rows))
