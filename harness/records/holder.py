"""The process that holds a run folder, and how it stays the only writer.

The lock of a deleted file protects nothing: whoever comes next makes another. So the holder looks
at each row whether its lock is still there, and a run's rows are locked themselves.
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
"""Words of a run's process that a sweep started, and not a person."""


def holder(run: RunFolder) -> str | None:
    """`PID on NODE` of the live process that holds the folder; None if it is free."""
    recorded = holder_file.read(run.path)
    if recorded is not None and recorded.lives:
        return str(recorded)  # also where somebody has deleted the lock's file
    with contextlib.suppress(OSError, DataError):  # a folder that we may only read
        if run_lock.is_file_locked(run.metrics) or run_lock.is_taken(run.path):
            return str(recorded or holder_file.UNNAMED)
    return None


def elsewhere(run: RunFolder) -> str | None:
    """The process of another machine that seems to work in the folder, and when it wrote to it."""
    return holder_file.elsewhere(run.path, events.last_step_s(run.events))


def take(folder: RunFolder) -> int:
    """Become the folder's only writer: the descriptor of its lock, which may be handed on.

    Raises StoppedError, naming the holder, if a live process holds it, StorageError.
    """
    plain_file.refuse_link(folder.path)
    with atomic.storage(folder.path / run_lock.NAME):
        descriptor = run_lock.acquire(folder.path, run_lock.ASKING_S)
    if descriptor is None:
        recorded = holder_file.read(folder.path)
        raise StoppedError(f"{folder.path}: held by process {recorded or holder_file.UNNAMED}")
    other = holder_file.beside(folder.path, folder.metrics)
    if other is not None:
        os.close(descriptor)
        raise StoppedError(f"{folder.path}: held by process {other}")
    for path in (folder.path, folder.conversations, folder.simulator, folder.trackers):
        atomic.clear(path)  # what killed writers have left
    with atomic.storage(folder.path):
        me = holder_file.this_process(folder.path)
    atomic.write_text(folder.holder, me.to_text())
    return descriptor


@contextlib.contextmanager
def hold(folder: RunFolder, taken: int | None = None) -> Iterator[None]:
    """Be the folder's only writer meanwhile; `taken`: by the lock of that descriptor.

    The kernel frees the lock with the process, however it ends. Raises what `take` raises.
    """
    descriptor = take(folder) if taken is None else taken
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # who died holding it leaves as much
            folder.holder.unlink(missing_ok=True)
        os.close(descriptor)


def kill(run: RunFolder) -> None:
    """End the process of a sweep that holds the folder, with its process group.

    A number in a file is no reason to kill: the process must have begun when the file says, be of
    this user, be a run's that a sweep started, and have this folder's lock open.
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
    """Open a handle of the process that has this number now; None where the system has none.

    Raises ProcessLookupError where there is no such process.
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
    """Whether the process, of this user, is a run's that a sweep started in this folder."""
    if not all(word in holder_file.command_line(recorded.pid).split() for word in OF_A_SWEEP):
        return False
    where = PROC / str(recorded.pid)
    if not where.exists():  # no /proc: that somebody has the lock must do
        return run_lock.is_taken(run.path)
    ours = where.stat().st_uid == os.getuid()
    return ours and any(_is_lock(path, run) for path in (where / "fd").iterdir())


def _is_lock(descriptor: Path, run: RunFolder) -> bool:
    name = str(run.path.resolve() / run_lock.NAME)
    with contextlib.suppress(OSError):
        return os.readlink(descriptor) in (name, f"{name} (deleted)")  # noqa: PTH115
    return False


class Keeper:
    """Keeps a folder that this process holds; one that it does not hold it leaves alone."""

    def __init__(self, run: RunFolder) -> None:
        with atomic.storage(run.path):
            self._run, self._me = run, holder_file.this_process(run.path)
        self._holds = holder_file.read(run.path) == self._me
        self._locks: list[int] = []

    def renew(self) -> bool:
        """Whether the lock, or the name of its holder, was gone and is there again.

        Raises StoppedError where another live process has the folder, StorageError.
        """
        if not self._holds:
            return False
        with atomic.storage(self._run.path / run_lock.NAME):
            again = run_lock.acquire(self._run.path, wait_s=0)  # None: ours is where it was
        if again is not None:
            self._locks.append(again)
        named = holder_file.read(self._run.path)
        if named == self._me:
            return again is not None
        if named is not None and named.lives:
            rule = f"taken over by process {named} after its {run_lock.NAME} was deleted"
            raise StoppedError(f"{self._run.path}: {rule}; this process writes no more to it")
        atomic.write_text(self._run.holder, self._me.to_text())
        return True

    def close(self) -> None:
        while self._locks:
            os.close(self._locks.pop())


@contextlib.contextmanager
def only_writer(run: RunFolder) -> Iterator[Keeper]:
    """Lock the rows of `run` themselves meanwhile. Raises StoppedError if another process has
    them, DataError for a link in their place, StorageError.
    """
    plain_file.refuse_link(run.metrics)
    with atomic.storage(run.metrics):
        rows = run_lock.acquire_file(run.metrics, wait_s=run_lock.ASKING_S)
    if rows is None:
        raise StoppedError(f"{run.path}: held by process {holder_file.UNNAMED}")
    keeper = Keeper(run)
    try:
        yield keeper
    finally:
        keeper.close()
        os.close(rows)
