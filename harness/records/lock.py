"""The lock of a folder: a flock, which the kernel frees with the last process that has it open.

It outlives an exec, so that `train` can take it before it makes the run and hand it to the run's
own process. Nothing waits for a dead holder, and no lock file ever has to be removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

NAME = ".lock"
POLL_S = 0.01
HELD = (errno.EAGAIN, errno.EACCES)
FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK


def acquire(folder: Path, wait_s: float) -> int | None:
    """Descriptor of the folder's lock, None if another process has it for so long.

    Raises OSError, also where the file is a link.
    """
    descriptor = os.open(folder / NAME, FLAGS | os.O_CREAT, 0o600)
    deadline = time.monotonic() + wait_s
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(os.close, descriptor)
        while not _locks(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL_S)
        on_failure.pop_all()
    return descriptor


def is_taken(folder: Path) -> bool:
    """Whether a process has it. Raises OSError, also where there is no lock file.

    A shared lock asks: of two who ask at once, neither takes the other for a holder.
    """
    descriptor = os.open(folder / NAME, FLAGS)
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locks(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in HELD:
            raise
        return False
    return True
