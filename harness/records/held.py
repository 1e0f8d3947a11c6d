"""Who holds a run folder just now, without holding it."""

from __future__ import annotations

import contextlib
import os
import platform
import signal

from harness.errors import DataError
from harness.records import lock, plain_file
from harness.records.folder import RunFolder


def holder(run: RunFolder) -> str | None:
    """`PID on NODE` of the live process that holds the folder; None if it is free."""
    path = run.path / ".holder"
    if not path.exists():
        return None
    with contextlib.suppress(OSError, DataError):  # a folder that we may only read
        if lock.is_taken(run.path):
            return plain_file.text(path).strip()
    return None


def kill(run: RunFolder) -> None:
    """End the process that holds the folder, with its process group, if it is on this machine."""
    pid, _, node = (holder(run) or "").partition(" on ")
    if node == platform.node():
        with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
            os.killpg(int(pid), signal.SIGKILL)
