"""Work shared with other processes; results and their order do not depend on who does a piece.

The others are spawned, since a fork of a process that has threads may hang.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, TypeVar

from harness.utils import process

MOST_PROCESSES = 4
"""More do not pay: what is done with all runs at the end is done by one."""
FEWEST_RUNS = 100
"""Fewer are fitted sooner than a second process starts."""
RARELY = (100_000, 5, 5)
"""Thresholds of Python's cyclic garbage collector, which by default (700, 10, 10) takes a twentieth
of an analysis to find next to nothing: what is read and fitted is kept until the end. Python's own
search as it ends, 0.2 s in each process after a thousand runs, is spared by gc.freeze.
"""
Piece = TypeVar("Piece")
Result = TypeVar("Result")


@contextlib.contextmanager
def others(processes: int) -> Iterator[Executor | None]:
    """All of `processes` but this one, None if there are none; they start with the first work.

    Until the end all of them look for garbage more rarely, and not once more as they end.
    """
    count = min(processes, MOST_PROCESSES) - 1
    with _rarely_collecting():
        if count < 1:
            yield None
            return
        atexit.register(gc.freeze)
        try:
            with _deaf_children():
                pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (os.getpid(),))
        except (OSError, NotImplementedError):  # /dev/shm is not writable: this process alone
            yield None
            return
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that start meanwhile do not hear Ctrl-C, which a terminal sends to all: they end
    with this one. What Python starts beside them need not tell of it either.
    """
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent_pid: int) -> None:
    process.die_with(parent_pid)
    gc.set_threshold(*RARELY)
    atexit.register(gc.freeze)


@contextlib.contextmanager
def _rarely_collecting() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def prepare(pool: Executor | None, *modules: str) -> None:
    """Another process imports `modules` while this one does something else."""
    begin(pool, _import, modules)


def _import(module: str) -> None:
    importlib.import_module(module)


def likely_many(paths: Sequence[Path]) -> bool:
    """Whether there may be FEWEST_RUNS runs in them, by how many entries they have."""
    with contextlib.suppress(OSError):
        entries = sum(len([*path.iterdir()]) if path.is_dir() else 1 for path in paths)
        return entries >= FEWEST_RUNS
    return False


@dataclass(frozen=True)
class Begun(Generic[Piece, Result]):
    """Pieces of work, from the first on in the hands of the others, where there are others."""

    work: Callable[[Piece], Result]
    pieces: Sequence[Piece]
    futures: Sequence[Future[Result]]
    """Future of each piece; none where this process does all of them."""

    def results(self, left_to_others: int = 0) -> list[Result]:
        """Return the results in the order of the pieces. This process takes what nobody has begun,
        from the end, but for the first `left_to_others`.
        """
        if not self.futures:
            return [self.work(piece) for piece in self.pieces]
        done: dict[int, Result] = {}
        try:
            for at in range(len(self.pieces) - 1, left_to_others - 1, -1):
                if self.futures[at].cancel():
                    done[at] = self.work(self.pieces[at])
            every = enumerate(self.futures)
            return [done[at] if at in done else future.result() for at, future in every]
        except BrokenProcessPool:  # one was killed, by a lack of memory most likely
            return [self.work(piece) for piece in self.pieces]


def begin(
    pool: Executor | None, work: Callable[[Piece], Result], pieces: Sequence[Piece]
) -> Begun[Piece, Result]:
    """`work`, a function of a module, and its pieces are sent to the others of the `pool`."""
    try:
        with _deaf_children():
            futures = [pool.submit(work, piece) for piece in pieces] if pool is not None else []
    except BrokenProcessPool:
        futures = []
    return Begun(work, pieces, futures)
