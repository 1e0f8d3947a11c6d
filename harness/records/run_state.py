"""How a run stands by its folder, which is the truth: run.json, who holds it, its last row."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import DataError
from harness.records import holder, run_folder, soundness
from harness.records.run_folder import RunFolder

DIED = "process died without writing a status (killed or crashed)"
CRASHED, DAMAGED = "crashed", "damaged"
"""Statuses that no run.json holds."""


@dataclass(frozen=True)
class RunState:
    """A run now."""

    status: str
    """Its status in run.json; CRASHED where no live process runs it though that says so, DAMAGED
    where it cannot be read or the run lacks rows that it had."""
    reason: str | None = None
    exit_code: int | None = None
    attempts: int = 0


def of(run: RunFolder) -> RunState:
    """The state of a folder that holds run.json."""
    try:
        now = run_folder.read_status(run)
    except DataError as error:
        return RunState(DAMAGED, str(error), error.exit_code)
    if now.status == "running" and holder.holder(run) is None:
        return RunState(CRASHED, DIED, None, now.attempts)
    damage = soundness.damage(run, now)
    if damage:
        return RunState(DAMAGED, damage, DataError.exit_code, now.attempts)
    return RunState(now.status, now.reason, now.exit_code, now.attempts)
