"""The rows that were left out, with file and line of the first few: the talk beside the results."""

from __future__ import annotations

from harness.law.results import Analysis, RunResult
from harness.report.wording import plural
from harness.visible import visible

MOST_RUNS = 20
"""Of more damaged runs the others are counted; all are in law.json."""


def lines(analysis: Analysis) -> list[str]:
    """`left out of RUN: 5 nan (FILE:12, FILE:15, FILE:16, ...), 1 torn_last_line (FILE:41)`."""
    damaged = [run for run in analysis.runs if run.dropped]
    said = [visible(f"left out of {run.run}: {_reasons(run)}") for run in damaged[:MOST_RUNS]]
    more = len(damaged) - MOST_RUNS
    return said + ([f"and rows of {plural(more, 'more run')}: see law.json"] if more > 0 else [])


def _reasons(run: RunResult) -> str:
    return ", ".join(f"{count} {why}{_places(run, why)}" for why, count in run.dropped.items())


def _places(run: RunResult, reason: str) -> str:
    places = (run.dropped_at or {}).get(reason, ())
    if not places:
        return ""
    more = ", ..." if run.dropped[reason] > len(places) else ""
    return f" ({', '.join(places)}{more})"
