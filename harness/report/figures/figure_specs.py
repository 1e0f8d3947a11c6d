"""Which figures an analysis gets: every run up to 24 of them, medians over runs beyond.

A sketch is a figure's numbers before it is drawn: small beside the analysis, and without
matplotlib, so that another process can be asked to draw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.group_results import Analysis, GroupResult
from harness.law.results import RunResult
from harness.report.figures import clock as clocks
from harness.report.figures import difficulties, run_series
from harness.report.figures import group_series as pools
from harness.report.figures.clock import STEP, Clock
from harness.report.figures.difficulties import Mark
from harness.report.figures.group_series import PoolPanel
from harness.report.figures.run_series import Panel
from harness.report.text import naming

MOST_RUNS = 24
"""More runs in one figure hide each other."""
LAW, CURVES, RESIDUALS = "entropy_law", "entropy_curves", "residuals"
FOREST, DIFFICULTY = "forest", "onset_by_difficulty"


@dataclass(frozen=True)
class Measured:
    """What the axes are of."""

    policy: str | None
    """The kind of the runs' policies; None where it is unknown or not the same."""
    reward: str | None
    """The column of R; None where it is not the same."""
    time: str = STEP
    """clock.STEP or clock.SHARE"""


@dataclass(frozen=True)
class Unread:
    """A run that gives nothing to draw, and why."""

    run: str
    reason: str | None


@dataclass(frozen=True)
class Sketch:
    """A figure to be drawn of one of `panels` (runs), `pools`, `groups` (the forest), `marks`
    (onsets against difficulty), `unread`."""

    kind: str
    """LAW, CURVES, RESIDUALS, FOREST or DIFFICULTY"""
    page: str = ""
    """The end of the name where there are several of a kind."""
    measured: Measured = Measured(None, None)
    panels: tuple[Panel, ...] = ()
    pools: tuple[PoolPanel, ...] = ()
    groups: tuple[GroupResult, ...] = ()
    marks: tuple[Mark, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def name(self) -> str:
        """File name without its ending."""
        return f"{self.kind}{self.page}"


def sketches(analysis: Analysis, every_run: bool) -> list[Sketch]:
    """`every_run` adds pages of MOST_RUNS runs to the medians of a large analysis.

    An analysis without a single readable run gets figures that say so.
    """
    readable = [run for run in analysis.runs if run.run in analysis.series]
    if not readable:
        unread = tuple(
            Unread(run.run, run.error.message if run.error else None) for run in analysis.runs
        )
        return [Sketch(kind, unread=unread) for kind in (LAW, CURVES, RESIDUALS)]
    compared = drawable(analysis)
    forest = [Sketch(FOREST, groups=tuple(compared))] if compared else []
    finished = [run for run in readable if run.run not in analysis.left_out]
    marks = difficulties.marks(analysis, finished)
    forest += [Sketch(DIFFICULTY, marks=marks)] if marks else []
    clock = clocks.of(analysis.series[run.run] for run in readable)
    if len(readable) <= MOST_RUNS:
        return _of_runs(analysis, readable, clock, "") + forest
    found = (_of_groups(analysis, readable, clock) if finished else []) + forest
    if every_run or not finished:
        for number, page in enumerate(_pages(analysis, readable), 1):
            found += _of_runs(analysis, page, clock, f"_{number}")
    return found


def drawable(analysis: Analysis) -> list[GroupResult]:
    """The groups, from the lowest level up; none where no seed stands beside another."""
    found = [group for group in analysis.groups if group.compared is not None]
    if sum(len(group.runs) for group in found) < 2:
        return []
    return sorted(found, key=lambda group: group.compared.order if group.compared else 0)


def _of_runs(
    analysis: Analysis, runs: Sequence[RunResult], clock: Clock, page: str
) -> list[Sketch]:
    panels, measured = run_series.panels(analysis, runs, clock), _measured(runs, clock)
    kinds = (LAW, CURVES, RESIDUALS)
    return [Sketch(kind, page, measured, panels=panels) for kind in kinds]


def _of_groups(analysis: Analysis, runs: Sequence[RunResult], clock: Clock) -> list[Sketch]:
    panels, measured = pools.panels(analysis, runs, clock), _measured(runs, clock)
    return [Sketch(kind, "", measured, pools=panels) for kind in (LAW, CURVES, RESIDUALS)]


def _measured(runs: Sequence[RunResult], clock: Clock) -> Measured:
    policies, columns = {_policy_kind(run) for run in runs}, {run.reward for run in runs}
    return Measured(
        policies.pop() if len(policies) == 1 else None,
        columns.pop() if len(columns) == 1 else None,
        clock.unit,
    )


def _policy_kind(run: RunResult) -> str | None:
    kind = run.setting("policy", "kind")
    return kind if isinstance(kind, str) else None


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
