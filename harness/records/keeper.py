"""Staying a folder's only writer, also where somebody deletes the lock's file meanwhile.

The lock of a deleted file protects nothing: whoever comes next makes another. So the holder looks
at each row whether its lock is still there, and a run's rows are locked themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from harness.errors import StoppedError
from harness.records import atomic, holder_file, plain_file, run_lock
from harness.records.run_folder import RunFolder


class Keeper:
    """Keeps a folder that this process holds; one that it does not hold it leaves alone."""

    def __init__(self, held: RunFolder) -> None:
        with atomic.storage(held.path):
            self._held, self._me = held, holder_file.this_process(held.path)
        self._holds = holder_file.read(held.path) == self._me
        self._locks: list[int] = []

    def renew(self) -> bool:
        """Whether the lock, or the name of its holder, was gone and is there again.

        Raises StoppedError where another live process has the folder, StorageError.
        """
        if not self._holds:
            return False
        with atomic.storage(self._held.path / run_lock.NAME):
            again = run_lock.acquire(self._held.path, wait_s=0)  # None: ours is where it was
        if again is not None:
            self._locks.append(again)
        named = holder_file.read(self._held.path)
        if named == self._me:
            return again is not None
        if named is not None and named.lives:
            rule = f"taken over by process {named} after its {run_lock.NAME} was deleted"
            raise StoppedError(f"{self._held.path}: {rule}; this process writes no more to it")
        atomic.write_text(self._held.holder, self._me.to_text())
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
