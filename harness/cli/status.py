"""The status and resume commands, and the lines that describe a sweep or a run."""

from __future__ import annotations

import contextlib
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes
from harness.errors import DataError, HarnessError, StoppedError
from harness.execution import ledger
from harness.execution import resume as resuming
from harness.records import holder, run_folder, run_state, study_file, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep
from harness.utils import terminal
from harness.utils.safe_text import escape

LOOK_EVERY_S = 1.0
MOST_NAMED = 3
"""Sweeps and runs inside a folder that are named where the folder is neither."""


def status(folder: Path, *, as_json: bool) -> None:
    """Print the status of the run or the sweep in `folder`. Raises DataError if it is neither."""
    _refuse_outer_folder(folder, "status")
    value = resuming.status(folder)
    if as_json:
        exit_codes.print_json(value)
    for line in [] if as_json else status_lines(folder):
        _print(line)


def resume(
    folder: Path, events: str | None, stop_again: bool = False, ranks: int | None = None
) -> int:
    """Continue the run or the sweep in `folder` and return the exit code."""
    _refuse_outer_folder(folder, "resume")
    sweep, code = resuming.resume(folder, events, stop_again, ranks)
    for line in closing_lines(sweep, code):
        exit_codes.say(line)
    return code


def _refuse_outer_folder(folder: Path, command: str) -> None:
    """Raise DataError for a folder that only contains runs or sweeps; the message names them."""
    with contextlib.suppress(OSError, ValueError):  # such a folder is the command's to refuse
        if _is_run_or_sweep(folder):
            return
        folders = sorted(path for path in folder.iterdir() if _is_run_or_sweep(path))
        if not folders:
            return
        more = f", and {len(folders) - MOST_NAMED} more" if len(folders) > MOST_NAMED else ""
        names = ", ".join(path.name for path in folders[-MOST_NAMED:])
        raise DataError(
            f"{folder}: has no run.json and no {sweep_file.FILE}, but contains {names}{more}; "
            f"for the last one, `harness {command} {shlex.quote(str(folders[-1]))}`"
        )


def _is_run_or_sweep(path: Path) -> bool:
    return (path / sweep_file.FILE).is_file() or (path / "run.json").is_file()


def plan(planned: Sweep) -> Iterator[str]:
    """Yield a line per run, with its name and overrides, then the swept keys."""
    width = max(len(row.name) for row in planned.runs)
    for row in planned.runs:
        yield f"{row.name:{width}}  {' '.join(row.overrides)}".rstrip()
    axes = ", ".join(f"{key} ({len(values)})" for key, values in planned.axes.items())
    count = len(planned.runs)
    yield f"{count} run{'s' * (count != 1)}; swept: {axes or 'nothing'}"


def closing_lines(sweep: Sweep, code: int) -> Iterator[str]:
    """Yield the failures and the command to type next."""
    yield from failures(sweep)
    done, where = sum(row.status == "done" for row in sweep.runs), shlex.quote(str(sweep.dir))
    yield f"{done} of {len(sweep.runs)} runs done in {sweep.dir}"
    if code == StoppedError.exit_code:
        yield f"stopped; continue with `harness resume {where}`"
    elif done < len(sweep.runs):
        yield f"retry the others with `harness resume {where}`"
    elif (Path(str(sweep.dir)) / study_file.FILE).is_file():
        yield "next: repeat the `harness study` command that planned these runs, to judge them"
    else:
        yield f"next: `harness fit-entropy-law {where}`"


def failures(sweep: Sweep) -> Iterator[str]:
    """Yield a line with the reason for each run that ended before it was done, then the number of
    runs that were not started.
    """
    for row in sweep.runs:
        if row.status not in ("done", "planned"):
            reason = (row.reason or "").removeprefix(f"{row.dir}: ")
            yield f"{row.name}: {row.status}{f', {reason}' if reason else ''}"
    if planned := sum(row.status == "planned" for row in sweep.runs):
        yield f"{planned} run{'s' * (planned != 1)} not started"


def status_lines(path: Path) -> Iterator[str]:
    """Yield the sweep's name and note and a line for each of its runs, or one line for a single
    run.
    """
    if resuming.is_sweep(path):
        sweep = ledger.read_for_display(path)
        label = ": ".join(part for part in (sweep.name, sweep.note) if part)
        yield from [label] if label else []
        for row in sweep.runs:
            yield _run_line(Path(str(row.dir)), path, row)
    else:
        resuming.status(path)
        yield _run_line(path.resolve(), path)


def _run_line(run: Path, named_folder: Path, row: LedgerRow | None = None) -> str:
    """Return the line of a run. `row`: its row in the ledger, for a run without a folder."""
    from harness.execution import progress, progress_view

    view = progress.RunWatcher(run, run.name, _steps(run)).read()
    if row is not None and not RunFolder(run).is_run():
        reason = run_state.reason_alone(run, row.status, row.reason)
        view = replace(view, status=row.status, reason=reason)
    if view.status == run_state.CRASHED:
        advice = f"continue with `harness resume {shlex.quote(str(named_folder))}`"
        view = replace(view, reason=f"{view.reason}; {advice}")
    return progress_view.line(view)


def _steps(run: Path) -> int:
    with contextlib.suppress(HarnessError):  # one damaged config hides no other run
        return run_folder.planned_steps(RunFolder(run))
    return 0


def _print(line: str) -> None:
    """Print a line of `status_lines`; colour its first status word if the terminal has colours."""
    columns, coloured = terminal.width(sys.stdout), terminal.is_coloured(sys.stdout)
    wrapped = terminal.wrap(escape(line), columns, "  ")
    name, separator, rest = wrapped.partition(": ")
    word = rest.partition(",")[0]
    if separator and word in terminal.STYLES:
        wrapped = f"{name}: {terminal.colourize(word, word, coloured)}{rest[len(word) :]}"
    print(wrapped)


def watch(folder: Path) -> None:
    """Show the run or the sweep until no process works on it any more. Ctrl-C ends this without an
    error. Raises DataError if it is neither a run nor a sweep.
    """
    from harness.execution import progress

    _refuse_outer_folder(folder, "status --watch")
    resuming.status(folder)
    is_sweep = resuming.is_sweep(folder)
    rows = ledger.read(folder).runs if is_sweep else ()
    dirs = [Path(str(row.dir)) for row in rows] or [folder.resolve()]
    is_over = threading.Event()
    watcher = threading.Thread(target=_wait_until_over, args=(folder, dirs, is_over), daemon=True)
    watcher.start()
    with contextlib.suppress(KeyboardInterrupt):
        steps = [_steps(path) for path in dirs]
        progress.watch(dirs, [path.name for path in dirs], steps, Console(), is_over)
    for line in status_lines(folder) if not sys.stdout.isatty() else ():
        _print(line)


def _wait_until_over(folder: Path, dirs: Sequence[Path], is_over: threading.Event) -> None:
    """Set `is_over` once no process holds the folder or one of the runs."""
    run_folders = [RunFolder(path) for path in dict.fromkeys((folder, *dirs))]
    while any(holder.holder(run) is not None for run in run_folders):
        time.sleep(LOOK_EVERY_S)
    is_over.set()
