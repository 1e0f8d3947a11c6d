"""Who holds a run folder just now, without holding it."""

from __future__ import annotations

import contextlib
import os
import platform
import signal

from filelock import FileLock, Timeout

from harness.records.folder import RunFolder


def holder(run: RunFolder) -> str | None:
    """`PID on NODE` of the live process that holds the folder; None if it is free."""
    path = run.path / ".holder"
    if not path.exists() or not run.lock.exists():
        return None
    lock = FileLock(run.lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        with contextlib.suppress(OSError):
            return path.read_text(encoding="utf-8").strip()
        return None
    except OSError:  # a folder that we may only read
        return None
    lock.release()
    return None


def kill(run: RunFolder) -> None:
    """End the process that holds the folder, with its process group, if it is on this machine."""
    pid, _, node = (holder(run) or "").partition(" on ")
    if node == platform.node():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(pid), signal.SIGKILL)
