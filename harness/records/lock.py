"""The lock of a folder: a flock, which the kernel frees with the last process that has it open.

It outlives an exec, so that `train` can take it before it makes the run and hand it to the run's
own process. Nothing waits for a dead holder, and no lock file ever has to be removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

NAME = ".lock"
POLL_S = 0.01
HELD = (errno.EAGAIN, errno.EACCES)


def acquire(folder: Path, wait_s: float = 0.0, make: bool = True) -> int | None:
    """Descriptor of the folder's lock, None while another process has it.

    `make`: whether a lock file may be made. Raises OSError, also where the file is a link.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if make else 0)
    descriptor = os.open(folder / NAME, flags, 0o600)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            late = time.monotonic() >= deadline
            if error.errno not in HELD or late:
                os.close(descriptor)
            if error.errno not in HELD:
                raise
            if late:
                return None
        time.sleep(POLL_S)
