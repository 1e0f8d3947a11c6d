"""The lock of a folder: a flock, which the kernel frees with the last process that has it open.

It outlives an exec, so that `train` can take it before it makes the run and hand it to the run's
own process. Nothing waits for a dead holder, and no lock file ever has to be removed. One that is
removed all the same is a lock of nothing: what is taken is the file of that name.
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
"""Longer than anybody holds the lock who only asks."""
HELD = (errno.EAGAIN, errno.EACCES)
FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK


def acquire(folder: Path, wait_s: float) -> int | None:
    """Descriptor of the folder's lock, None if another process has it for so long.

    Raises OSError, also where the file is a link.
    """
    return acquire_file(folder / NAME, wait_s)


def acquire_file(path: Path, wait_s: float) -> int | None:
    """Descriptor of the locked file `path`, made if need be; None, and OSError, as `acquire`."""
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = os.open(path, FLAGS | os.O_CREAT, 0o600)
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
    """Whether a process has it. Raises OSError, also where there is no lock file.

    A shared lock asks: of two who ask at once, neither takes the other for a holder.
    """
    descriptor = os.open(folder / NAME, FLAGS)
    try:
        return not _locks(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def is_file_locked(path: Path) -> bool:
    """Whether a process has locked `path`; False where there is none, or it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
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
