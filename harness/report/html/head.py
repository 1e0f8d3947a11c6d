"""The head of the page: title, sweeps, runs and dates.

All dates are in UTC, since readers of a report do not know where the runs were.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.law.group_results import Analysis
from harness.records import events, sweep_file
from harness.records.run_folder import RunFolder
from harness.report.html.answer import ReportedStudy
from harness.report.html.folders import LocatedRun, parents
from harness.report.text.wording import plural

MOST_SWEEPS = 6
"""The most sweeps whose names and notes are shown; further ones are counted."""


@dataclass(frozen=True)
class ReportHeader:
    """The text above the answer."""

    title: str
    sweeps: Sequence[str]
    """Name and note of each sweep, one line each."""
    runs: str
    """The number of runs, and their study."""
    dates: str
    """When the runs began and ended; empty if no file says."""
    made: str
    """When the page was made; empty if not given."""


def head(
    title: str,
    runs: Sequence[LocatedRun],
    analysis: Analysis,
    studies: Sequence[ReportedStudy],
    made_unix_s: float | None,
) -> ReportHeader:
    """Describe the runs."""
    date_made = "" if made_unix_s is None else date(made_unix_s)
    return ReportHeader(
        title, _sweeps(title, runs), _runs(analysis, studies), _dates(runs), date_made
    )


def date(unix_s: float) -> str:
    """Return `2026-11-24 15:19 UTC`; empty for a time that the calendar cannot represent."""
    with contextlib.suppress(OverflowError, ValueError, OSError):
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(unix_s))
    return ""


def _runs(analysis: Analysis, studies: Sequence[ReportedStudy]) -> str:
    fitted = sum(run.status == "ok" for run in analysis.runs)
    unread = len(analysis.runs) - fitted
    parts = [f"study {study.name}" for study in studies]
    parts.append(plural(fitted, "run"))
    partial = sum(run.unfinished is not None for run in analysis.runs)
    parts += [f"{partial} unfinished"] if partial else []
    parts += [f"{unread} not read"] if unread else []
    return ", ".join(parts)


def _sweeps(title: str, runs: Sequence[LocatedRun]) -> list[str]:
    """Return `NAME: NOTE` of each sweep, without a name that equals the title."""
    lines = [line for line in (_sweep(folder, title) for folder in parents(runs)) if line]
    more = len(lines) - MOST_SWEEPS
    return lines[:MOST_SWEEPS] + ([f"and {more} more sweeps"] if more > 0 else [])


def _sweep(folder: Path, title: str) -> str:
    """Return name and note; empty if sweep.json is unreadable, since no number depends on it."""
    with contextlib.suppress(DataError, OSError):
        sweep = sweep_file.read(folder)
        name = sweep.name if sweep.name != title else None
        return ": ".join(text for text in (name, sweep.note) if text)
    return ""


def _dates(runs: Sequence[LocatedRun]) -> str:
    """Return the first beginning and the last event over all runs; empty if either is unknown."""
    logs = [RunFolder(run.folder).events for run in runs if run.folder is not None]
    first_events = [unix_s for log in logs if (unix_s := events.began_unix_s(log)) is not None]
    last_events = [unix_s for log in logs if (unix_s := events.last_unix_s(log)) is not None]
    if not first_events or not last_events:
        return ""
    is_over = all(run.status is not None and run.status.status == "done" for run in runs)
    verb = "ended" if is_over else "last wrote"
    subject = "the run" if len(runs) == 1 else "the runs"
    return f"{subject} began {date(min(first_events))} and {verb} {date(max(last_events))}"
