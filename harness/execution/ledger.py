"""The ledger of a sweep: its folder, and sweep.json with the state of every run.

The folder is complete before the first run starts. A run's status is defined by its run.json;
sweep.json repeats it for all runs and is written by the process that executes the sweep. After a
kill sweep.json may be out of date, so the functions here read the run folders again.
"""

from __future__ import annotations

import contextlib
import random
import string
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.compose.plan import Plan
from harness.errors import DataError, FolderError, HarnessError
from harness.execution import sweep_place, user_validity
from harness.records import (
    config_file,
    holder,
    provenance,
    run_folder,
    run_state,
    run_status,
    sweep_file,
)
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep

LOST = (run_state.CRASHED, run_state.DAMAGED)


def dry_run_sweep(plan: Plan) -> Sweep:
    """Return the sweep that a dry run shows. Nothing is created, so no run has a folder."""
    rows = [
        LedgerRow(name, None, point.overrides)
        for name, point in zip(plan.names, plan.points, strict=True)
    ]
    return Sweep(None, plan.axes, rows)


def create(
    plan: Plan,
    command: Sequence[str],
    root: Path | None = None,
    name: str | None = None,
    note: str | None = None,
) -> Sweep:
    """Create the sweep's folder, `root` or a new one below runs/, with one planned run per point.

    Raises FolderError, and for `root` what `sweep_place.refuse_taken` raises.
    """
    if root is None:
        return _fill(_new_folder(sweep_place.runs_folder().resolve()), plan, command, name, note)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{root}: {error.strerror or error}") from error
    with holder.hold(RunFolder(root)):  # of two simultaneous starts, only one creates the sweep
        sweep_place.refuse_taken(root)
        return _fill(root, plan, command, name, note)


def _fill(
    root: Path, plan: Plan, command: Sequence[str], name: str | None, note: str | None
) -> Sweep:
    rows = [
        replace(row, dir=str(root / row.name), planned_hash=config_file.choices_hash(point.config))
        for row, point in zip(dry_run_sweep(plan).runs, plan.points, strict=True)
    ]
    made_by = provenance.current_versions()
    for row, point in zip(rows, plan.points, strict=True):
        validity = user_validity.record(point.config)
        run_folder.create(RunFolder(root / row.name), point.config, validity, made_by)
    sweep = Sweep(str(root), plan.axes, rows, tuple(command), name, note)
    sweep_file.write(root, sweep)
    return sweep


def read(root: Path) -> Sweep:
    """Read the sweep in `root`, with the current status of its run folders.

    Crashed and damaged runs count as failed. Raises DataError if `root` holds no sweep.
    """
    return _read(root, with_current_status)


def read_for_display(root: Path) -> Sweep:
    """`read` with the statuses shown to users, which include crashed and damaged."""
    return _read(root, _with_shown_status)


def _read(root: Path, update: Callable[[LedgerRow], LedgerRow]) -> Sweep:
    root = root.resolve()
    sweep = sweep_file.read(root)
    rows = [update(replace(row, dir=str(root / row.name))) for row in sweep.runs]
    return replace(sweep, dir=str(root), runs=rows)


def refresh(sweep: Sweep) -> Sweep:
    """Read the sweep's runs again, and write sweep.json if they have changed."""
    return _update_rows(sweep, [with_current_status(row) for row in sweep.runs])


def follow(sweep: Sweep) -> Sweep:
    """`refresh`, without reading finished runs again."""
    return _update_rows(
        sweep, [row if row.status == "done" else with_current_status(row) for row in sweep.runs]
    )


def _update_rows(sweep: Sweep, rows: list[LedgerRow]) -> Sweep:
    updated = replace(sweep, runs=rows)
    if updated != sweep:
        sweep_file.write(Path(str(updated.dir)), updated)
    return updated


def unfinished(sweep: Sweep) -> list[LedgerRow]:
    """Return the runs that are not done and that no process is executing."""
    rows = [row for row in sweep.runs if row.status != "done"]
    return [row for row in rows if holder.holder(RunFolder(Path(str(row.dir)))) is None]


def mark_failed(sweep: Sweep, errors: Mapping[str, HarnessError]) -> Sweep:
    """Mark the runs of these names as failed for these reasons, and write sweep.json."""
    rows = [
        _mark_row_failed(row, errors[row.name]) if row.name in errors else row for row in sweep.runs
    ]
    updated = replace(sweep, runs=rows)
    if errors:
        sweep_file.write(Path(str(updated.dir)), updated)
    return updated


def _mark_row_failed(row: LedgerRow, error: HarnessError) -> LedgerRow:
    failed_row = replace(row, status="failed", reason=str(error), exit_code=error.exit_code)
    run = RunFolder(Path(str(row.dir)))
    with contextlib.suppress(DataError):  # run.json is missing or damaged: only the row says it
        status = run_status.read(run.status)
        failed_status = replace(
            status, status="failed", reason=failed_row.reason, exit_code=failed_row.exit_code
        )
        run_status.write(run.status, failed_status)
    return failed_row


def with_current_status(row: LedgerRow) -> LedgerRow:
    """Return the row with the status from its run folder; crashed and damaged count as failed."""
    shown_row = _with_shown_status(row)
    return replace(shown_row, status="failed") if shown_row.status in LOST else shown_row


def _with_shown_status(row: LedgerRow) -> LedgerRow:
    state = run_state.of_row(row, RunFolder(Path(str(row.dir))))
    reason = state.reason
    if reason and state.attempts > 1 and state.status not in LOST:
        reason = f"{reason} (attempt {state.attempts})"
    return replace(row, status=state.status, reason=reason, exit_code=state.exit_code)


def _new_folder(parent: Path) -> Path:
    """Create runs/20261121-070837-x7: the time, and a suffix in case of two starts in a second."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            tail = "".join(random.choices(string.ascii_lowercase + string.digits, k=2))
            root = parent / f"{time.strftime('%Y%m%d-%H%M%S')}-{tail}"
            with contextlib.suppress(FileExistsError):
                root.mkdir()
                return root
    except OSError as error:
        raise FolderError(f"{parent}: {error.strerror or error}") from error
