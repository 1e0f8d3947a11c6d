"""A sweep or a run as lines of text: what is planned, how it stands, what is next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.errors import HarnessError, StoppedError
from harness.execution import ledger, resume
from harness.records import run_folder, study_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import Sweep


def plan(planned: Sweep) -> Iterator[str]:
    """A line a run: its name and its words."""
    width = max(len(row.name) for row in planned.runs)
    for row in planned.runs:
        yield f"{row.name:{width}}  {' '.join(row.overrides)}".rstrip()
    axes = ", ".join(f"{key} ({len(values)})" for key, values in planned.axes.items())
    count = len(planned.runs)
    yield f"{count} run{'s' * (count != 1)}; swept: {axes or 'nothing'}"


def closing(known: Sweep, code: int) -> Iterator[str]:
    """What failed, and the command to type next."""
    yield from failures(known)
    done = sum(row.status == "done" for row in known.runs)
    yield f"{done} of {len(known.runs)} runs done in {known.dir}"
    if code == StoppedError.exit_code:
        yield f"stopped; continue with `harness resume {known.dir}`"
    elif done < len(known.runs):
        yield f"try the others again with `harness resume {known.dir}`"
    elif (Path(str(known.dir)) / study_file.FILE).is_file():
        yield "next: the `harness study` command that these runs are of; it judges them as they are"
    else:
        yield f"next: `harness fit-entropy-law {known.dir}`"


def failures(known: Sweep) -> Iterator[str]:
    """A line for each run that is not done, with the reason."""
    for row in known.runs:
        if row.status != "done":
            reason = (row.reason or "").removeprefix(f"{row.dir}: ")
            yield f"{row.name}: {row.status}{f', {reason}' if reason else ''}"


def standing(path: Path) -> Iterator[str]:
    """A line for the run in `path`, or for each run of the sweep there."""
    if resume.is_sweep(path):
        for row in ledger.read(path).runs:
            yield from _standing(Path(str(row.dir)), path, row.status, row.reason)
    else:
        found = resume.status(path)
        yield from _standing(path.resolve(), path, found["status"], found["reason"])


def _standing(run: Path, named: Path, status: str, reason: str | None) -> Iterator[str]:
    from harness.execution import progress

    where = RunFolder(run)
    steps = 0
    with contextlib.suppress(HarnessError):  # one damaged config hides no other run
        steps = run_folder.planned_steps(where)
    view = progress.RunWatcher(run, run.name, steps).look()
    crashed = reason == ledger.CRASHED or (status == "running" and resume.crashed(run))
    yield progress.line(view if crashed else replace(view, status=status, reason=reason))
    if crashed:
        yield f"  {ledger.CRASHED}; continue with `harness resume {named}`"
