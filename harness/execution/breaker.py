"""A sweep whose runs so far have all failed alike starts no more: the others would fail as well.

A run that gives up by itself, resumable, at a deadline or because nobody answers, counts as
one that fails: the next would wait as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.errors import DataError
from harness.records import run_folder
from harness.records.run_folder import RunFolder, RunStatus

ALIKE = 3
"""So many failures with one reason, and none without."""
STEP = re.compile(r"step \d+")
ASKED = re.compile(r"stopped by SIG|after a stop request|interrupted twice")
"""What the reason says of a run that stopped because it was told to."""
SAID = f"{ALIKE} runs failed alike and none was done, so no more were started"


def trips(dirs: Sequence[str]) -> bool:
    """Whether the runs of this launch that have ended are at least ALIKE, failed for one reason."""
    runs = [RunFolder(Path(name)) for name in dirs]
    ended = [found for run in runs if (found := _end(run)) is not None]
    reasons = {(status.exit_code, STEP.sub("step", reason)) for status, reason in ended}
    status, reason = ended[0] if ended else (None, "")
    alike = len(ended) >= ALIKE and len(reasons) == 1
    return alike and status is not None and gave_up(status.status, reason)


def gave_up(status: str, reason: str | None) -> bool:
    """Whether a run came to its end by no doing of the user's, and short of its last step."""
    return status == "failed" or (status == "stopped" and not ASKED.search(reason or ""))


def _end(run: RunFolder) -> tuple[RunStatus, str] | None:
    """How a run ended under whoever holds the sweep now, and why, without its folder's name."""
    try:
        status = run_folder.read_status(run)
        began = RunFolder(run.path.parent).holder.stat().st_mtime_ns
        ended = status.status == "done" or gave_up(status.status, status.reason)
        if not ended or run.status.stat().st_mtime_ns < began:
            return None
        return status, (status.reason or "").replace(str(run.path), "")
    except (DataError, OSError):
        return None
