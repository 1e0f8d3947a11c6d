"""The rows that were left out, with file and line of the first few: the talk beside the results."""

from __future__ import annotations

from harness.law.group_results import Analysis
from harness.law.results import RunResult
from harness.report.text.wording import plural
from harness.utils.safe_text import visible

FIRST_FEW = 3
"""Unfinished runs that are named; law.json names all."""
MOST_RUNS = 20
"""Of more damaged runs the others are counted; all are in law.json."""


def lines(analysis: Analysis) -> list[str]:
    """`left out of RUN: 5 nan (FILE:12, FILE:15, FILE:16, ...), 1 torn_last_line (FILE:41)`.

    Then the unfinished runs, and how many runs have rows that nothing can be told of.
    """
    return [*_rows(analysis), *_unfinished(analysis), *_without_checksums(analysis)]


def _rows(analysis: Analysis) -> list[str]:
    damaged = [run for run in analysis.runs if run.dropped]
    said = [visible(f"left out of {run.run}: {_reasons(run)}") for run in damaged[:MOST_RUNS]]
    more = len(damaged) - MOST_RUNS
    return said + ([f"and rows of {plural(more, 'more run')}: see law.json"] if more > 0 else [])


def _unfinished(analysis: Analysis) -> list[str]:
    """`2 runs are unfinished, in no mean or contrast without --with-unfinished: A (...), ...`."""
    found = [run for run in analysis.runs if run.unfinished is not None]
    if not found:
        return []
    named = [f"{run.run} ({standing(run)})" for run in found[:FIRST_FEW]]
    more = [f"{len(found) - FIRST_FEW} more"] if len(found) > FIRST_FEW else []
    pooled = {run for group in analysis.groups for run in group.runs}
    means = "in no mean or contrast without --with-unfinished"
    if any(run.run in pooled for run in found):
        means = "in means and contrasts by --with-unfinished"
    are = "run is" if len(found) == 1 else "runs are"
    return [visible(f"{len(found)} {are} unfinished, {means}: {', '.join(named + more)}")]


def standing(run: RunResult) -> str:
    """`failed 70 at step 12 of 300`; `damaged` of a run that was done."""
    ended = run.unfinished
    assert ended is not None
    code = f" {ended.exit_code}" if ended.exit_code else ""
    of = f" of {ended.steps}" if ended.steps is not None else ""
    word = "damaged" if ended.status in ("done", None) else f"{ended.status}{code}"
    return f"{word} at step {ended.last_step}{of}"


def _without_checksums(analysis: Analysis) -> list[str]:
    """Of runs that were made before rows had them."""
    count = sum(run.checksums == "none" for run in analysis.runs)
    have = "has" if count == 1 else "have"
    said = f"{plural(count, 'run')} {have} no row checksums (made before rows had them)"
    return [f"{said}: a number changed since would not be noticed"] if count else []


def _reasons(run: RunResult) -> str:
    return ", ".join(f"{count} {why}{_places(run, why)}" for why, count in run.dropped.items())


def _places(run: RunResult, reason: str) -> str:
    places = (run.dropped_at or {}).get(reason, ())
    if not places:
        return ""
    more = ", ..." if run.dropped[reason] > len(places) else ""
    return f" ({', '.join(places)}{more})"
