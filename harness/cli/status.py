"""The status and resume commands, and a sweep or a run as lines of text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.cli import exit_codes
from harness.errors import DataError, HarnessError, StoppedError
from harness.execution import ledger
from harness.execution import resume as resuming
from harness.records import run_folder, run_state, study_file, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import Sweep
from harness.utils.safe_text import visible

MOST_NAMED = 3
"""Sweeps and runs inside a folder that are named where the folder is neither."""


def status(folder: Path, *, as_json: bool) -> None:
    """Print how the run or the sweep in `folder` stands. Raises DataError if it is neither."""
    _refuse_outer_folder(folder, "status")
    stands = resuming.status(folder)
    if as_json:
        exit_codes.print_json(stands)
    for line in [] if as_json else standing(folder):
        print(visible(line))


def resume(folder: Path, events: str | None, stop_again: bool = False) -> int:
    """Continue the run or the sweep in `folder` and return the exit code."""
    _refuse_outer_folder(folder, "resume")
    sweep, code = resuming.resume(folder, events, stop_again)
    for line in closing(sweep, code):
        exit_codes.say(line)
    return code


def _refuse_outer_folder(folder: Path, command: str) -> None:
    """Raises DataError for a folder that only holds runs or sweeps, and names those inside."""
    with contextlib.suppress(OSError, ValueError):  # such a folder is the command's to refuse
        if _is_run_or_sweep(folder):
            return
        inside = sorted(path for path in folder.iterdir() if _is_run_or_sweep(path))
        if not inside:
            return
        more = f", and {len(inside) - MOST_NAMED} more" if len(inside) > MOST_NAMED else ""
        names = ", ".join(path.name for path in inside[-MOST_NAMED:])
        raise DataError(
            f"{folder}: no run.json and no {sweep_file.FILE} here, but inside: {names}{more}; "
            f"for the last one, `harness {command} {inside[-1]}`"
        )


def _is_run_or_sweep(path: Path) -> bool:
    return (path / sweep_file.FILE).is_file() or (path / "run.json").is_file()


def plan(planned: Sweep) -> Iterator[str]:
    """Yield a line per run, its name and its overrides, then what is swept."""
    width = max(len(row.name) for row in planned.runs)
    for row in planned.runs:
        yield f"{row.name:{width}}  {' '.join(row.overrides)}".rstrip()
    axes = ", ".join(f"{key} ({len(values)})" for key, values in planned.axes.items())
    count = len(planned.runs)
    yield f"{count} run{'s' * (count != 1)}; swept: {axes or 'nothing'}"


def closing(sweep: Sweep, code: int) -> Iterator[str]:
    """Yield what failed, and the command to type next."""
    yield from failures(sweep)
    done = sum(row.status == "done" for row in sweep.runs)
    yield f"{done} of {len(sweep.runs)} runs done in {sweep.dir}"
    if code == StoppedError.exit_code:
        yield f"stopped; continue with `harness resume {sweep.dir}`"
    elif done < len(sweep.runs):
        yield f"retry the others with `harness resume {sweep.dir}`"
    elif (Path(str(sweep.dir)) / study_file.FILE).is_file():
        yield "next: repeat the `harness study` command that planned these runs, to judge them"
    else:
        yield f"next: `harness fit-entropy-law {sweep.dir}`"


def failures(sweep: Sweep) -> Iterator[str]:
    """Yield a line for each run that is not done, with the reason."""
    for row in sweep.runs:
        if row.status != "done":
            reason = (row.reason or "").removeprefix(f"{row.dir}: ")
            yield f"{row.name}: {row.status}{f', {reason}' if reason else ''}"


def standing(path: Path) -> Iterator[str]:
    """Yield a line for the run in `path`, or for each run of the sweep there."""
    if resuming.is_sweep(path):
        for row in ledger.read(path).runs:
            yield from _standing(Path(str(row.dir)), path, row.status, row.reason)
    else:
        run = resuming.status(path)
        yield from _standing(path.resolve(), path, run["status"], run["reason"])


def _standing(run: Path, named: Path, status: str, reason: str | None) -> Iterator[str]:
    from harness.execution import progress

    where = RunFolder(run)
    steps = 0
    with contextlib.suppress(HarnessError):  # one damaged config hides no other run
        steps = run_folder.planned_steps(where)
    view = progress.RunWatcher(run, run.name, steps).read()
    crashed = reason == run_state.DIED or (status == "running" and resuming.crashed(run))
    yield progress.line(view if crashed else replace(view, status=status, reason=reason))
    if crashed:
        yield f"  {run_state.DIED}; continue with `harness resume {named}`"
