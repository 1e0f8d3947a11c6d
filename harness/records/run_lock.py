"""The lock of a folder: a flock, which the kernel frees with the last process that has it open.

It survives an exec, so that `train` can take it before creating the run and pass it on to the run's
own process. A dead holder never blocks anyone, and a lock file need not be removed. If one is
removed anyway, its lock no longer counts: `acquire` then creates and locks a new file.
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
ASKING_S = 0.2
"""Time to wait for the lock: longer than a process that only checks it ever holds it."""
HELD = (errno.EAGAIN, errno.EACCES)
FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK


def acquire(folder: Path, wait_s: float) -> int | None:
    """Lock the folder and return the lock's descriptor; None if others hold it for `wait_s`.

    Raises OSError, also if the lock file is a link.
    """
    return acquire_file(folder / NAME, wait_s)


def acquire_file(path: Path, wait_s: float, mode: int = 0o600) -> int | None:
    """Lock the file `path`, creating it with the permissions `mode`, reduced by the umask, if
    needed. Returns and raises as `acquire` does.
    """
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = os.open(path, FLAGS | os.O_CREAT, mode)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(os.close, descriptor)
            if _locks(descriptor, fcntl.LOCK_EX) and _is_named(path, descriptor):
                on_failure.pop_all()
                return descriptor
        if time.monotonic() >= deadline:
            return None
        time.sleep(POLL_S)


def _is_named(path: Path, descriptor: int) -> bool:
    """Whether `path` still names the open file: the lock of a deleted file excludes no process."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    return False


def is_taken(folder: Path) -> bool:
    """Whether a process holds the folder's lock. Raises OSError, also if there is no lock file.

    Checks with a shared lock, so that two simultaneous checks do not see each other as holders.
    """
    descriptor = os.open(folder / NAME, FLAGS)
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def is_file_locked(path: Path) -> bool:
    """Whether a process has locked `path`; False if `path` is missing or cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _locks(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in HELD:
            raise
        return False
    return True
