"""Stop requests: a small file in a sweep's folder, which every process that executes a run polls.

A file reaches the runs of every launcher, unlike signals and process groups.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from harness.errors import EXIT_INTERRUPTED_TWICE, DataError
from harness.records import atomic, holder, plain_file
from harness.records.run_folder import RunFolder
from harness.utils import process, safe_text

NAME = ".stop"
NO_NEW_RUNS = "no new runs"
STOP_RUNS = "stop runs"
LAST_WAIT_S = 2.0


def no_new_runs(sweep: Path) -> bool:
    """True if no further run of the sweep may start."""
    return (sweep / NAME).exists()


def stop_runs(sweep: Path) -> bool:
    """True if running runs must stop too."""
    try:
        return plain_file.text(sweep / NAME) == STOP_RUNS
    except DataError:
        return False


def request(sweep: Path, stop: str) -> None:
    """Ask the sweep for `stop`, NO_NEW_RUNS or STOP_RUNS. Raises StorageError."""
    if stop == STOP_RUNS or not no_new_runs(sweep):
        atomic.write_text(sweep / NAME, stop, durable=False)


def clear(sweep: Path) -> None:
    """Remove the request of an earlier execution. Raises StorageError."""
    with atomic.storage_errors(sweep / NAME):
        (sweep / NAME).unlink(missing_ok=True)


@contextlib.contextmanager
def on_signals(sweep: Path, runs: Sequence[Path]) -> Iterator[Callable[[], object]]:
    """Make the first stop signal stop the sweep cleanly, and a later SIGINT end it at once.

    Yields a function that installs the handlers again, in case a launcher has replaced them.
    """

    def obey(number: int, _frame: FrameType | None) -> None:
        if not stop_runs(sweep):
            request(sweep, STOP_RUNS)
            safe_text.say("stopping the runs; Ctrl-C again to end now")
        elif number == signal.SIGINT:
            _end_at_once(runs)

    numbers = process.STOP_SIGNALS

    def install() -> list[Any]:
        return [signal.signal(number, obey) for number in numbers]

    old_handlers = install()
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # closing the terminal ends no sweep
    try:
        yield install
    finally:
        for number, handler in zip((*numbers, signal.SIGHUP), (*old_handlers, hangup), strict=True):
            signal.signal(number, handler)


def _end_at_once(runs: Sequence[Path]) -> None:
    """Kill every run, then the workers, and exit once no run folder is held or after LAST_WAIT_S.

    Runs are killed first, while their process numbers are certain not to be reused.
    """
    folders = [RunFolder(path) for path in runs]
    try:
        for run in folders:
            holder.kill(run)
        for worker in multiprocessing.active_children():
            if worker.is_alive() and worker.pid is not None:  # not reaped: the pid is still its own
                os.kill(worker.pid, signal.SIGKILL)
        deadline = time.monotonic() + LAST_WAIT_S
        while time.monotonic() < deadline and any(map(holder.holder, folders)):
            time.sleep(0.02)
    finally:
        os._exit(EXIT_INTERRUPTED_TWICE)
