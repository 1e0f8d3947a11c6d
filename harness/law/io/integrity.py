"""Check the integrity of a run's log: how the run ended, and which rows are missing or foreign.

run.json has a sum of the rows that the run wrote. It detects rows of another run, and rows whose
checksums were removed or recomputed, which are valid by themselves. Logs of other programs, and
runs without run.json, are not checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import DivergedError
from harness.law.io import checksums
from harness.law.io.clean import FIRST_FEW, LARGEST, Mask
from harness.law.io.identity import FolderIdentity
from harness.law.io.table import LogTable
from harness.law.result_parts import UnfinishedRun
from harness.law.results import Floats
from harness.law.settings import setting
from harness.records import metric_rows
from harness.records.metric_rows import RowSums
from harness.records.sweep_file import LedgerRow

REPLAYED = "a recomputed row must equal the one on disk"
"""Reason of a failed replay, which has the exit code of divergence but is none."""


def unfinished(
    identity: FolderIdentity, last_row: int | None, other_rows: str | None = None
) -> UnfinishedRun | None:
    """Return the state of a run that is not done or is damaged; None if it is done and complete.

    `last_row`: its last step with a row, if known. `other_rows`: why its rows are not those that it
    wrote, if so. A run with status done lacks rows if its log ends before run.json's last step.
    """
    if identity.unreadable is not None:
        return UnfinishedRun(
            None, identity.unreadable, None, last_row or 0, _planned_steps(identity.config)
        )
    if identity.status is None:
        return None
    reason = identity.reason
    if identity.status == "done":
        damage = _missing_end(identity, last_row) or identity.other_config or other_rows
        if damage is None:
            return None
        reason = f"damaged: {damage}"
    reached = identity.last_step if last_row is None else last_row
    return UnfinishedRun(
        identity.status, reason, identity.exit_code, reached, _planned_steps(identity.config)
    )


def _missing_end(identity: FolderIdentity, last_row: int | None) -> str | None:
    if last_row is None or last_row >= identity.last_step:
        return None
    rule = f"a run that is done must end with the row of step {identity.last_step}"
    return f"{rule}, got {f'step {last_row}' if last_row else 'none'} as its last"


def diverged(run: UnfinishedRun | LedgerRow | None) -> bool:
    """Return whether the training diverged."""
    if run is None or run.status != "failed":
        return False
    if run.exit_code != DivergedError.exit_code:
        return False
    return REPLAYED not in (run.reason or "")


def _planned_steps(config: Mapping[str, Any] | None) -> int | None:
    steps = setting(config, "trainer", "steps")
    return steps if isinstance(steps, int) and not isinstance(steps, bool) else None


MISSING_ROW = "missing_row"
"""Key of missing rows in `dropped`."""


@dataclass(frozen=True)
class MissingSteps:
    """Steps without a line in the file."""

    count: int
    first: tuple[int, ...]
    """The first missing steps, at most FIRST_FEW."""


NONE_MISSING = MissingSteps(0, ())


def missing_steps(table: LogTable, last_step: int) -> MissingSteps:
    """Find the missing steps from 1 to `last_step`, or to the last logged step if that is later.

    A damaged line counts for the step after that of the previous line. It is reported as damage,
    and its step is not missing as well.
    """
    steps = table.columns["step"]
    logged = np.unique(steps[_valid_steps(steps)])
    last = max(last_step, int(logged[-1]) if len(logged) else 0)
    if len(logged) == last:
        return NONE_MISSING
    present = {int(step) for step in logged}
    present |= _steps_of_damaged_lines(table, present, last)
    return MissingSteps(last - len(present), _first_missing(sorted(present), last))


def last_logged_step(table: LogTable) -> int:
    """Return the last step in the log; 0 if no row has one."""
    steps = table.columns["step"]
    logged = steps[_valid_steps(steps)]
    return int(logged.max()) if len(logged) else 0


def _valid_steps(steps: Floats) -> Mask:
    """Return a mask of the values that are valid steps."""
    valid: Mask = (steps >= 1) & (steps <= LARGEST) & (steps == np.floor(steps))
    return valid


def _steps_of_damaged_lines(table: LogTable, present: set[int], last: int) -> set[int]:
    steps = table.columns["step"]
    valid = _valid_steps(steps)
    step_at = {
        int(line): int(step) if is_valid else None
        for line, step, is_valid in zip(table.lines, steps, valid, strict=True)
    }
    step_at |= dict.fromkeys(line for lines in table.damage.values() for line in lines)
    accounted_for: set[int] = set()
    previous = 0
    for line in sorted(step_at):
        step = step_at[line]
        if step is not None:
            previous = step
        elif previous + 1 <= last and previous + 1 not in present:
            previous += 1
            accounted_for.add(previous)
    return accounted_for


def _first_missing(present: Sequence[int], last: int) -> tuple[int, ...]:
    missing: list[int] = []
    expected = 1
    for step in (*present, last + 1):
        missing += range(expected, min(step, expected + FIRST_FEW))
        if len(missing) >= FIRST_FEW:
            break
        expected = step + 1
    return tuple(missing[:FIRST_FEW])


BOM = b"\xef\xbb\xbf"


def changed_rows(table: LogTable, recorded: RowSums | None, last_step: int) -> str | None:
    """Return why the rows are not those that the run wrote, by their sum in run.json.

    None if they are, or if that cannot be determined. If rows up to `last_step` are missing, only
    the first row is compared; missing rows are counted elsewhere.
    """
    if recorded is None:
        return None
    steps = table.columns["step"]
    order = np.argsort(steps, kind="stable")
    is_complete = not table.damage and np.array_equal(steps[order], np.arange(1, last_step + 1))
    lines = table.lines[order] if is_complete else table.lines[steps == 1][-1:]
    if not len(lines):
        return None
    stored = table.sums if is_complete and (np.diff(lines) > 0).all() else None
    computed = stored or _sums(table.path, lines.tolist())
    if computed is None or (
        computed == recorded if is_complete else computed.first == recorded.first
    ):
        return None
    return f"{table.path}: rows must match the checksum in run.json, but were changed"


def _sums(path: Path, numbers: Sequence[int]) -> RowSums | None:
    """Return the sums of the lines with these numbers, from 1; None if the file is gone."""
    with contextlib.suppress(OSError, IndexError):
        lines = path.read_bytes().removeprefix(BOM).split(b"\n")
        return metric_rows.sums(lines[number - 1] for number in numbers)
    return None


@dataclass(frozen=True)
class Integrity:
    """How a run ended, and which of its rows are missing."""

    unfinished: UnfinishedRun | None
    checksums: str | None = None
    lost: MissingSteps = NONE_MISSING

    @property
    def dropped(self) -> dict[str, int]:
        return {MISSING_ROW: self.lost.count} if self.lost.count else {}

    def dropped_at(self, metrics: Path | None) -> dict[str, list[str]]:
        """Return reason -> the first few missing steps, which have no line number."""
        steps = [f"{metrics}: step {step}" for step in self.lost.first]
        return {MISSING_ROW: steps} if steps else {}


def check(table: LogTable, identity: FolderIdentity) -> Integrity:
    """Check a run whose log could be read."""
    change = changed_rows(table, identity.rows, identity.last_step)
    state = unfinished(identity, last_logged_step(table), change)
    coverage = table.checksums if identity.is_ours or table.checksums != checksums.NONE else None
    missing = missing_steps(table, identity.last_step) if identity.has_record else NONE_MISSING
    return Integrity(state, coverage, missing)


def without_log(identity: FolderIdentity) -> Integrity:
    """Return the integrity of a run whose log could not be read."""
    return Integrity(unfinished(identity, 0))
