"""Onsets of runs beside the measured difficulty of their levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.law.group_results import Analysis
from harness.law.io.identity import share_of_run
from harness.law.results import Interval, RunResult
from harness.report.text import naming


@dataclass(frozen=True)
class Mark:
    """One run."""

    run: str
    level: str
    null_control: bool
    difficulty: Mapping[str, Interval]
    """Measure of the difficulty card -> its value."""
    onset: float | None
    """Of collapse, as a share of the run; None where there is none in it."""
    low: float | None
    high: float | None


def marks(analysis: Analysis, runs: Sequence[RunResult]) -> tuple[Mark, ...]:
    """Of the runs whose level has a card; none where all have the same one, or none an onset."""
    called = naming.names(analysis)
    found = [_mark(analysis, run, called[run.run]) for run in runs if run.difficulty is not None]
    distinct = {str(mark.difficulty) for mark in found}
    some = any(mark.onset is not None for mark in found)
    return tuple(found) if some and len(distinct) > 1 else ()


def _mark(analysis: Analysis, run: RunResult, name: str) -> Mark:
    steps, onset = analysis.series[run.run].course_steps, run.onset
    first, last = float(steps[0]), float(steps[-1])
    share: list[float | None] = [None] * 3
    if onset is not None and onset.is_collapse:
        ends = (onset.step, onset.low, onset.high)
        share = [share_of_run(run.config, first, last, end) for end in ends]
    assert run.difficulty is not None
    return Mark(name, run.level or "", _null(run), run.difficulty, *share)


def _null(run: RunResult) -> bool:
    return run.setting("algorithm", "null_control") is True
