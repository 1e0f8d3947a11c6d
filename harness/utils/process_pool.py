"""Shares work with other processes. Results and their order do not depend on the distribution.

The other processes are spawned, since a fork of a process with threads may hang.
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
"""More processes do not help, since one process does the final work on all runs."""
FEWEST_RUNS = 100
"""Fitting fewer runs takes less time than starting a second process."""
RARELY = (100_000, 5, 5)
"""Thresholds of Python's cyclic garbage collector. With the default (700, 10, 10) it takes 5% of
an analysis and finds almost nothing, since data and fits are kept until the end. gc.freeze avoids
the collection at exit, which takes 0.2 s in each process after a thousand runs.
"""
Piece = TypeVar("Piece")
Result = TypeVar("Result")


@contextlib.contextmanager
def worker_pool(processes: int) -> Iterator[Executor | None]:
    """Yield an executor with one worker less than `processes` or MOST_PROCESSES; None without any.

    Workers start with the first work. Within the block all processes collect garbage less often,
    and none of them collects it at exit.
    """
    count = min(processes, MOST_PROCESSES) - 1
    with _collect_garbage_rarely():
        if count < 1:
            yield None
            return
        atexit.register(gc.freeze)
        try:
            with _block_interrupts_in_children():
                pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (os.getpid(),))
        except (OSError, NotImplementedError):  # /dev/shm is not writable: use only this process
            yield None
            return
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _block_interrupts_in_children() -> Iterator[None]:
    """Block SIGINT in processes that start within the block: a terminal sends Ctrl-C to all, but
    they end with this process. Also silence warnings of Python's resource tracker.
    """
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _begin(parent_pid: int) -> None:
    process.die_with(parent_pid)
    gc.set_threshold(*RARELY)
    atexit.register(gc.freeze)


@contextlib.contextmanager
def _collect_garbage_rarely() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def prepare(pool: Executor | None, *modules: str) -> None:
    """Import `modules` in a worker, while this process does something else."""
    submit(pool, _import, modules)


def _import(module: str) -> None:
    importlib.import_module(module)


def likely_many(paths: Sequence[Path]) -> bool:
    """Whether `paths` may contain FEWEST_RUNS runs, by their number of directory entries."""
    with contextlib.suppress(OSError):
        entries = sum(len([*path.iterdir()]) if path.is_dir() else 1 for path in paths)
        return entries >= FEWEST_RUNS
    return False


@dataclass(frozen=True)
class SubmittedWork(Generic[Piece, Result]):
    """Pieces of work, which the workers, if there are any, process from the first on."""

    work: Callable[[Piece], Result]
    pieces: Sequence[Piece]
    futures: Sequence[Future[Result]]
    """Future of each piece; empty if this process does all of them."""

    def results(self, left_to_others: int = 0) -> list[Result]:
        """Return the results in the order of the pieces.

        This process takes pieces that no worker has started, from the end, except for the first
        `left_to_others`.
        """
        if not self.futures:
            return [self.work(piece) for piece in self.pieces]
        done: dict[int, Result] = {}
        try:
            for index in range(len(self.pieces) - 1, left_to_others - 1, -1):
                if self.futures[index].cancel():
                    done[index] = self.work(self.pieces[index])
            return [
                done[index] if index in done else future.result()
                for index, future in enumerate(self.futures)
            ]
        except BrokenProcessPool:  # a worker was killed, most likely for lack of memory
            return [self.work(piece) for piece in self.pieces]


def submit(
    pool: Executor | None, work: Callable[[Piece], Result], pieces: Sequence[Piece]
) -> SubmittedWork[Piece, Result]:
    """Submit `work`, a module-level function, for each piece to the `pool`, if there is one."""
    try:
        with _block_interrupts_in_children():
            futures = [pool.submit(work, piece) for piece in pieces] if pool is not None else []
    except BrokenProcessPool:
        futures = []
    return SubmittedWork(work, pieces, futures)
