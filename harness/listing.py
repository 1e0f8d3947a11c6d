"""A sweep or a run as lines of text: what is planned, how it stands, what is next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness import ledger, resume
from harness.errors import StoppedError
from harness.records import folder
from harness.records.folder import RunFolder
from harness.records.sweep import Sweep


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
    for row in known.runs:
        if row.status != "done":
            reason = (row.reason or "").removeprefix(f"{row.dir}: ")
            yield f"{row.name}: {row.status}{f', {reason}' if reason else ''}"
    done = sum(row.status == "done" for row in known.runs)
    yield f"{done} of {len(known.runs)} runs done in {known.dir}"
    if code == StoppedError.exit_code:
        yield f"stopped; continue with `harness resume {known.dir}`"
    elif done < len(known.runs):
        yield f"try the others again with `harness resume {known.dir}`"
    else:
        yield f"next: `harness fit-entropy-law {known.dir}`"


def standing(path: Path) -> Iterator[str]:
    """A line for the run in `path`, or for each run of the sweep there."""
    from harness import progress

    sweep = ledger.read(path) if resume.is_sweep(path) else None
    for run in [Path(str(row.dir)) for row in sweep.runs] if sweep else [path.resolve()]:
        where = RunFolder(run)
        steps = folder.read_config(where).trainer.steps if where.config.is_file() else 0
        yield progress.line(progress.RunWatcher(run, run.name, steps).look())
        if where.is_run() and resume.crashed(run):
            yield f"  {ledger.CRASHED}; continue with `harness resume {path}`"
