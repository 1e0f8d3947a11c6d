"""How a run stands by its folder, which is the truth: run.json, who holds it, its last row.

Every command that tells a run's status to people takes the word from here.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, HarnessError
from harness.records import holder, run_folder, run_status, soundness
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.sweep_file import LedgerRow

DIED = "process died without writing a status (killed or crashed)"
CRASHED, DAMAGED = "crashed", "damaged"
"""Statuses that no run.json holds."""
MOST_URGENT_FIRST = ("running", DAMAGED, CRASHED, "failed", "stopped", "planned", "done")
"""Every status there is."""
ENDED = (*run_status.ENDED, CRASHED, DAMAGED)


@dataclass(frozen=True)
class RunState:
    """A run now."""

    status: str
    """Its status in run.json; but CRASHED where no live process runs it though that says so,
    DAMAGED where it cannot be read or the run lacks rows that it had, and running where a process
    that holds the folder has not written its status yet."""
    reason: str | None = None
    exit_code: int | None = None
    attempts: int = 0


def of(run: RunFolder) -> RunState:
    """The state of a folder that holds run.json."""
    try:
        now = run_status.read(run)
        if now.status in ("planned", "running"):
            is_held = (holder.holder(run) or holder.elsewhere(run)) is not None
            now = run_status.read(run)  # it may have ended between the two looks
            return _unended(now, is_held)
    except DataError as error:
        return RunState(DAMAGED, str(error), error.exit_code)
    damage = soundness.damage(run, now)
    if damage:
        return RunState(DAMAGED, damage, DataError.exit_code, now.attempts)
    return RunState(now.status, now.reason, now.exit_code, now.attempts)


def _unended(now: RunStatus, is_held: bool) -> RunState:
    if now.status == "running" and not is_held:
        return RunState(CRASHED, DIED, None, now.attempts)
    status = "running" if now.status == "planned" and is_held else now.status
    return RunState(status, now.reason, now.exit_code, now.attempts)


def reason_alone(path: Path, status: str, reason: str | None) -> str | None:
    """The reason without the run's path and status at its start, for where both stand before it."""
    here = {str(path), os.path.realpath(path)}
    starts = [f"{status}: ", *(f"{name}{end}" for name in here for end in (": ", "/"))]
    for start in starts:
        reason = reason.removeprefix(start) if reason else reason
    return reason


def of_row(row: LedgerRow, run: RunFolder) -> RunState:
    """The state of a sweep's run, which may not have been made yet, or be gone."""
    if run.is_run():
        return of(run)
    with contextlib.suppress(HarnessError):
        run_folder.refuse_others(run)
        if row.status == "failed":  # it keeps its reason until it has been made anew
            return RunState("failed", row.reason, row.exit_code)
        return RunState("planned")
    error = gone(run)
    return RunState(DAMAGED, str(error), error.exit_code)


def gone(run: RunFolder) -> DataError:
    """Error for a folder with a run's files in it, and no run.json."""
    rule = f"{run.status.name} is missing, and a run starts again only in an empty folder"
    advice = "move the folder away, and a resume of the sweep starts the run again"
    return DataError(f"{run.path}: {rule}; {advice}")
