"""The state of a run, from its folder: run.json, the holder's process, and the last row.

Every command that shows a run's status uses this module.
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
"""Statuses that are never written to run.json."""
MOST_URGENT_FIRST = ("running", DAMAGED, CRASHED, "failed", "stopped", "planned", "done")
"""All statuses, ordered for display."""
ENDED = (*run_status.ENDED, CRASHED, DAMAGED)


@dataclass(frozen=True)
class RunState:
    """Current state of a run."""

    status: str
    """The status in run.json, with three exceptions: CRASHED if it says running but no live process
    holds the folder, DAMAGED if run.json is unreadable or rows are missing, and running if it says
    planned but a process holds the folder."""
    reason: str | None = None
    exit_code: int | None = None
    attempts: int = 0


def of(run: RunFolder) -> RunState:
    """Return the state of a folder that contains run.json."""
    try:
        recorded = run_status.read(run.status)
        if recorded.status in ("planned", "running"):
            is_held = (holder.holder(run) or holder.holder_elsewhere(run)) is not None
            recorded = run_status.read(
                run.status
            )  # the run may have ended before the check of its holder
            return _state_without_end(recorded, is_held)
    except DataError as error:
        return RunState(DAMAGED, str(error), error.exit_code)
    damage = soundness.damage(run, recorded)
    if damage:
        return RunState(DAMAGED, damage, DataError.exit_code, recorded.attempts)
    return RunState(recorded.status, recorded.reason, recorded.exit_code, recorded.attempts)


def _state_without_end(recorded: RunStatus, is_held: bool) -> RunState:
    if recorded.status == "running" and not is_held:
        return RunState(CRASHED, DIED, None, recorded.attempts)
    status = "running" if recorded.status == "planned" and is_held else recorded.status
    return RunState(status, recorded.reason, recorded.exit_code, recorded.attempts)


def reason_alone(path: Path, status: str, reason: str | None) -> str | None:
    """Return the reason without a leading path and status, for output that shows both already."""
    names = {str(path), os.path.realpath(path)}
    starts = [f"{status}: ", *(f"{name}{end}" for name in names for end in (": ", "/"))]
    for start in starts:
        reason = reason.removeprefix(start) if reason else reason
    return reason


def of_row(row: LedgerRow, run: RunFolder) -> RunState:
    """Return the state of a sweep's run, whose folder may not exist yet or no longer."""
    if run.is_run():
        return of(run)
    with contextlib.suppress(HarnessError):
        run_folder.refuse_others(run)
        if row.status == "failed":  # keeps its reason until the run is created again
            return RunState("failed", row.reason, row.exit_code)
        return RunState("planned")
    error = missing_status(run)
    return RunState(DAMAGED, str(error), error.exit_code)


def missing_status(run: RunFolder) -> DataError:
    """Return the error for a folder that contains a run's files but no run.json."""
    rule = f"{run.status.name} is missing, and a run can start again only in an empty folder"
    advice = "move the folder away and resume the sweep to start the run again"
    return DataError(f"{run.path}: {rule}; {advice}")
