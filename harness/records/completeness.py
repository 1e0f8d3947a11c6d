"""Whether a run that says it is done still has its rows: files outlive the process that knew."""

from __future__ import annotations

import json
import os

from harness.records import plain_file, row_checksum
from harness.records.run_folder import RunFolder, RunStatus

TAIL_BYTES = 16_384
"""A row takes some 3,000."""


def damage(run: RunFolder, status: RunStatus) -> str | None:
    """What is wrong with the rows of a run that says it is done; None where the last is there."""
    if status.status != "done":
        return None
    found = _last_step(run)
    if found == status.last_step:
        return None
    rule = f"a run that is done must end with the row of step {status.last_step}"
    return f"damaged: {run.metrics}: {rule}, got {f'step {found}' if found else 'none'} as its last"


def _last_step(run: RunFolder) -> int:
    """Step of the last whole row; 0 where there is none that can be read."""
    try:
        with open(run.metrics, "rb", opener=plain_file.opener) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            tail = file.read(TAIL_BYTES)
        last = tail[: tail.rfind(b"\n") + 1].splitlines(keepends=True)[-1]
        step = json.loads(last)["step"] if row_checksum.holds(last) is not False else 0
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return 0
    return step if type(step) is int else 0
