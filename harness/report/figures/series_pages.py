"""Figures of runs: which runs are on which page, and how a page becomes a drawing.

Each run is drawn if there are at most MOST_RUNS; otherwise the medians over groups of runs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.law.group_results import Analysis
from harness.law.results import RunResult
from harness.report.figures import canvas, group_series, medians, ranges, run_series
from harness.report.figures.canvas import Drawing, Legend, label
from harness.report.figures.figure_specs import (
    AxisNames,
    FigureSpec,
    Page,
    PageMeasurement,
    UnreadRun,
)
from harness.report.figures.group_series import GroupPanel
from harness.report.figures.medians import NullControls
from harness.report.figures.run_series import SHARE, STEP, RunPanel, TimeAxis
from harness.report.text import naming
from harness.report.text.wording import plural

MOST_RUNS = 24
"""More runs than this in a figure would hide each other."""
TIMES = {STEP: "step", SHARE: "share of each run's own steps"}
MEDIANS = "medians over runs"
BAND = "10% to 90% of runs"
NULL_CONTROL = ", null control"
"""End of the name of a panel of null controls."""
DrawRuns = Callable[[Sequence[RunPanel], str, AxisNames], Drawing]
DrawGroups = Callable[[Sequence[GroupPanel], str, AxisNames], Drawing]


def series_figure(
    name: str, shows: str, heading: str, draw_runs: DrawRuns, draw_groups: DrawGroups
) -> FigureSpec[Page]:
    """Return a figure of every page of runs, drawn run by run or by groups of them."""

    def draw(page: Page, file_name: str) -> Drawing:
        if page.unread:
            return _empty_drawing(page.unread, file_name, heading)
        names = axis_names(page.measured)
        if page.pools:
            drawing = draw_groups(page.pools, file_name, names)
        else:
            drawing = draw_runs(page.panels, file_name, names)
        return drawing if page.measured.time == STEP else _name_shares(drawing)

    return FigureSpec(
        name, shows, lambda subject: ((page.suffix, page) for page in subject.pages), draw, True
    )


def pages(analysis: Analysis, every_run: bool) -> tuple[Page, ...]:
    """Return the pages of an analysis; one that says so if no run could be read.

    For more than MOST_RUNS runs the page shows medians; `every_run` adds pages of single runs.
    """
    readable = analysis.readable_runs
    if not readable:
        unread = tuple(
            UnreadRun(run.run, run.error.message if run.error else None) for run in analysis.runs
        )
        return (Page("", unread=unread),)
    finished = analysis.runs_in_means(readable)
    clock = run_series.common_time_axis(analysis.series[run.run] for run in readable)
    if len(readable) <= MOST_RUNS:
        return (_run_page(analysis, readable, clock, ""),)
    page_list = [_group_page(analysis, readable, clock)] if finished else []
    if every_run or not finished:
        for number, members in enumerate(_split(analysis, readable), 1):
            page_list.append(_run_page(analysis, members, clock, f"_{number}"))
    return tuple(page_list)


def _run_page(analysis: Analysis, runs: Sequence[RunResult], clock: TimeAxis, suffix: str) -> Page:
    panels = tuple(
        replace(panel, null_controls=null_controls(analysis, panel.level, clock))
        for panel in run_series.panels(analysis, runs, clock)
    )
    return Page(suffix, _measurement(runs, clock), panels=panels)


def _group_page(analysis: Analysis, runs: Sequence[RunResult], clock: TimeAxis) -> Page:
    pools = tuple(
        replace(panel, null_controls=null_controls(analysis, panel.level, clock))
        for panel in group_series.panels(analysis, runs, clock)
    )
    return Page("", _measurement(runs, clock), pools=pools)


def null_controls(analysis: Analysis, level: str, clock: TimeAxis) -> NullControls | None:
    """Return the finished null controls of a panel's level and remedy; None if there are none."""
    level_series = [
        clock.series(analysis.series[run.run])
        for run in analysis.runs_in_means(analysis.readable_runs)
        if run.setting("algorithm", "null_control") is True
        and analysis.series[run.run].level == f"{level}{NULL_CONTROL}"
    ]
    if not level_series:
        return None
    edges = medians.bins([s.course_steps for s in level_series])
    entropy = [s.course_entropy for s in level_series]
    return NullControls(
        len(level_series),
        medians.medians_over_runs([s.course_steps for s in level_series], entropy, edges),
        medians.medians_over_runs(
            [s.steps for s in level_series], [s.reward for s in level_series], edges
        ),
    )


def _measurement(runs: Sequence[RunResult], clock: TimeAxis) -> PageMeasurement:
    policies, columns = {_policy_kind(run) for run in runs}, {run.reward for run in runs}
    return PageMeasurement(
        policies.pop() if len(policies) == 1 else None,
        columns.pop() if len(columns) == 1 else None,
        clock.unit,
        all(_policy_kind(run) is not None for run in runs),
        all(run.same_batch is True for run in runs),
    )


def _policy_kind(run: RunResult) -> str | None:
    policy = (run.config or {}).get("policy")
    kind = policy.get("kind") if isinstance(policy, dict) else None
    return kind if isinstance(kind, str) else None


def _split(analysis: Analysis, runs: Sequence[RunResult]) -> list[list[RunResult]]:
    """Return parts of at most MOST_RUNS runs; only a level larger than that is split over pages."""
    pages: list[list[RunResult]] = [[]]
    for members in naming.by_level(analysis, runs).values():
        for start in range(0, len(members), MOST_RUNS):
            part = members[start : start + MOST_RUNS]
            if len(pages[-1]) + len(part) > MOST_RUNS:
                pages.append([])
            pages[-1] += part
    return pages


def _name_shares(drawing: Drawing) -> Drawing:
    """Rename the column of the steps, whose values are shares of each run."""
    new_names = {STEP: SHARE}
    rows = (
        {
            new_names.get(name, name): SHARE if value == STEP else value
            for name, value in row.items()
        }
        for row in drawing.rows
    )
    columns = tuple(new_names.get(name, name) for name in drawing.columns)
    return replace(drawing, columns=columns, rows=tuple(rows))


def axis_names(measurement: PageMeasurement, fit_label: Callable[[str], str] = label) -> AxisNames:
    """Return the axes' labels with units, without what differs between the runs.

    `fit_label` makes the name of R's column fit to be drawn.
    """
    unit = {"tabular": " per act", None: ""}.get(measurement.policy, " per token")
    details = [fit_label(measurement.reward)] if measurement.reward else []
    details += ["same batch"] if measurement.same_batch else []
    reward = f" ({', '.join(details)})" if details else ""
    reward_name = "empathy reward" if measurement.is_ours else "reward"
    return AxisNames(
        f"policy entropy H (nats{unit})", f"{reward_name} R{reward}", TIMES[measurement.time],
        ranges.EMPATHY if measurement.is_ours else None,
    )  # fmt: skip


def _empty_drawing(unread: Sequence[UnreadRun], name: str, heading: str) -> Drawing:
    """Return a picture that says why nothing can be drawn."""
    reasons = [run.reason for run in unread if run.reason is not None]
    first = f" The first: {label(reasons[0], 200)}" if reasons else ""
    sentence = f"Nothing to draw: of {plural(len(unread), 'run')}, none could be read.{first}"
    grid = canvas.grid(heading, [sentence], 1, 0.2)
    grid.panels[0][0].set_axis_off()
    rows = tuple({"run": run.run, "reason": run.reason} for run in unread)
    return Drawing(name, grid.figure, ("run", "reason"), rows)


def group_legend(panels: Sequence[GroupPanel], marked: bool, band: bool = True) -> Legend:
    """Return entries for all groups, as points if `marked`, else as lines, and for a `band`."""
    slots = {pool.legend: pool.slot for panel in panels for pool in panel.pools}
    labels = canvas.labels(slots, canvas.LONGEST_GROUP)
    entries: Legend = {
        labels[legend]: canvas.line(
            color=canvas.colour(slot), marker=canvas.marker(slot) if marked else None,
            ls="" if marked else canvas.dashes(slot),
        )
        for legend, slot in sorted(slots.items(), key=lambda item: item[1])
    }  # fmt: skip
    if band:
        entries[BAND] = canvas.patch(color=canvas.INK, alpha=0.18, lw=0)
    return entries
