"""A sweep whose runs so far have all failed alike starts no more: the others would fail as well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import DataError
from harness.records import folder
from harness.records.folder import RunFolder, RunStatus

ALIKE = 3
"""So many failures with one reason, and none without."""
SAID = f"{ALIKE} runs failed alike and none was done, so no more were started"


def trips(dirs: Sequence[str]) -> bool:
    """Whether the runs of this launch that have ended are at least ALIKE, failed for one reason."""
    runs = [RunFolder(Path(name)) for name in dirs]
    ended = [found for run in runs if (found := _end(run)) is not None]
    reasons = {(status.exit_code, reason) for status, reason in ended}
    return len(ended) >= ALIKE and len(reasons) == 1 and ended[0][0].status == "failed"


def _end(run: RunFolder) -> tuple[RunStatus, str] | None:
    """How a run ended under whoever holds the sweep now, and why, without its folder's name."""
    try:
        status = folder.read_status(run)
        began = RunFolder(run.path.parent).holder.stat().st_mtime_ns
        if status.status not in ("done", "failed") or run.status.stat().st_mtime_ns < began:
            return None
        return status, (status.reason or "").replace(str(run.path), "")
    except (DataError, OSError):
        return None
