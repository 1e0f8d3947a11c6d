"""The process that holds a run folder, and how it stays the only writer.

The lock of a deleted file protects nothing, since the next process creates a new one. So the holder
checks at each row that its lock file still exists, and also locks metrics.jsonl itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from harness.errors import DataError, StoppedError
from harness.records import atomic, events, holder_file, plain_file, run_lock
from harness.records.holder_file import PROC, Holder
from harness.records.run_folder import RunFolder

OF_A_SWEEP = ("harness.train", "--die-with-parent")
"""Command-line words that identify a run process started by a sweep."""


def holder(run: RunFolder) -> str | None:
    """Return `PID on NODE` of the live process that holds the folder; None if it is free."""
    recorded = holder_file.read(run.path)
    if recorded is not None and recorded.lives:
        return str(recorded)  # even if the lock file was deleted
    with contextlib.suppress(OSError, DataError):  # the folder may be read-only
        if run_lock.is_file_locked(run.metrics) or run_lock.is_taken(run.path):
            return str(recorded or holder_file.UNNAMED)
    return None


def holder_elsewhere(run: RunFolder) -> str | None:
    """Describe a process on another machine that seems to hold the folder; None if there is none.

    See `holder_file.elsewhere`.
    """
    return holder_file.elsewhere(run.path, events.last_step_s(run.events))


def take(folder: RunFolder) -> int:
    """Become the folder's only writer and return the descriptor of its lock, for use in `hold`.

    Raises StoppedError, naming the holder, if a live process holds the folder, DataError if the
    folder is a link, and StorageError.
    """
    plain_file.refuse_link(folder.path)
    with atomic.storage_errors(folder.path / run_lock.NAME):
        descriptor = run_lock.acquire(folder.path, run_lock.ASKING_S)
    if descriptor is None:
        recorded = holder_file.read(folder.path)
        raise StoppedError(f"{folder.path}: held by process {recorded or holder_file.UNNAMED}")
    other = holder_file.other_writer(folder.path, folder.metrics)
    if other is not None:
        os.close(descriptor)
        raise StoppedError(f"{folder.path}: held by process {other}")
    for path in (folder.path, folder.conversations, folder.simulator, folder.trackers):
        atomic.clear(path)  # leftovers of killed writers
    with atomic.storage_errors(folder.path):
        this_holder = holder_file.this_process(folder.path)
    atomic.write_text(folder.holder, this_holder.to_text())
    return descriptor


@contextlib.contextmanager
def hold(folder: RunFolder, taken: int | None = None) -> Iterator[None]:
    """Hold the folder as its only writer. `taken`: the lock's descriptor, if `take` was called.

    The kernel frees the lock when the process ends in any way. Raises what `take` raises.
    """
    descriptor = take(folder) if taken is None else taken
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # a leftover is harmless: a killed holder leaves it too
            folder.holder.unlink(missing_ok=True)
        os.close(descriptor)


def kill(run: RunFolder) -> None:
    """Kill the sweep's process that holds the folder, with its process group.

    A process number in a file is not enough evidence. The process must have the recorded start
    time, belong to this user, be a run that a sweep started, and have this folder's lock open.
    """
    recorded = holder_file.read(run.path)
    if recorded is None:
        return
    with contextlib.suppress(OSError), _handle(recorded.pid) as handle:
        if not (recorded.lives and _trains(recorded, run)):
            return
        if os.getpgid(recorded.pid) == recorded.pid:
            os.killpg(recorded.pid, signal.SIGKILL)
        elif handle is not None:
            signal.pidfd_send_signal(handle, signal.SIGKILL)


@contextlib.contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    """Open a pidfd of the process with this number; None if the system does not support it.

    Raises ProcessLookupError if there is no such process.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError):  # an old kernel, a sandbox, another system
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _trains(recorded: Holder, run: RunFolder) -> bool:
    """Whether the process is this user's, and a run that a sweep started in this folder."""
    if not all(word in holder_file.command_line(recorded.pid).split() for word in OF_A_SWEEP):
        return False
    process = PROC / str(recorded.pid)
    if not process.exists():  # without /proc, all that can be checked is that the lock is taken
        return run_lock.is_taken(run.path)
    is_own = process.stat().st_uid == os.getuid()
    return is_own and any(_is_lock(path, run) for path in (process / "fd").iterdir())


def _is_lock(descriptor: Path, run: RunFolder) -> bool:
    name = str(run.path.resolve() / run_lock.NAME)
    with contextlib.suppress(OSError):
        return os.readlink(descriptor) in (name, f"{name} (deleted)")  # noqa: PTH115
    return False


class LockKeeper:
    """Renews the lock of a folder that this process holds; does nothing for other folders."""

    def __init__(self, run: RunFolder) -> None:
        with atomic.storage_errors(run.path):
            self._run, self._me = run, holder_file.this_process(run.path)
        self._holds = holder_file.read(run.path) == self._me
        self._locks: list[int] = []

    def renew(self) -> bool:
        """Restore the lock file and `.holder` if deleted; return whether either was restored.

        Raises StoppedError if another live process holds the folder, and StorageError.
        """
        if not self._holds:
            return False
        with atomic.storage_errors(self._run.path / run_lock.NAME):
            # None: the lock is still in place
            descriptor = run_lock.acquire(self._run.path, wait_s=0)
        if descriptor is not None:
            self._locks.append(descriptor)
        recorded = holder_file.read(self._run.path)
        if recorded == self._me:
            return descriptor is not None
        if recorded is not None and recorded.lives:
            rule = f"taken over by process {recorded} after its {run_lock.NAME} was deleted"
            raise StoppedError(f"{self._run.path}: {rule}; this process no longer writes to it")
        atomic.write_text(self._run.holder, self._me.to_text())
        return True

    def close(self) -> None:
        while self._locks:
            os.close(self._locks.pop())


@contextlib.contextmanager
def only_writer(run: RunFolder) -> Iterator[LockKeeper]:
    """Lock metrics.jsonl of `run`. Raises StoppedError if another process has locked it, DataError
    if it is a link, and StorageError.
    """
    plain_file.refuse_link(run.metrics)
    with atomic.storage_errors(run.metrics):
        rows = run_lock.acquire_file(run.metrics, wait_s=run_lock.ASKING_S, mode=0o666)
    if rows is None:
        raise StoppedError(f"{run.path}: held by process {holder_file.UNNAMED}")
    keeper = LockKeeper(run)
    try:
        yield keeper
    finally:
        keeper.close()
        os.close(rows)
