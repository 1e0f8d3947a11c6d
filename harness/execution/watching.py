"""What a sweep does beside its runs: it shows their progress and keeps sweep.json."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console

from harness.config.run import RunConfig
from harness.errors import StoppedError, StorageError
from harness.execution import ledger, progress
from harness.records import debug_log
from harness.records.holder import LockKeeper
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import Sweep
from harness.utils import safe_text

LOOK_EVERY_S = 1.0


@contextlib.contextmanager
def watched(sweep: Sweep, dirs: Sequence[Path], configs: Sequence[RunConfig]) -> Iterator[None]:
    """Show the progress of the runs and keep the sweep's ledger within the block, in two threads.

    If one of them fails, it is reported and the runs go on.
    """
    stop = threading.Event()
    steps = [config.trainer.steps for config in configs]
    root = Path(str(sweep.dir))
    threads = [
        threading.Thread(target=_report_failure, args=(root, *what))
        for what in (
            ("keep sweep.json", keep_ledger, sweep, stop),
            ("show progress", show_progress, dirs, steps, stop),
        )
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _report_failure(root: Path, purpose: str, work: Callable[..., None], *arguments: Any) -> None:
    """Call `work`; if it fails, say what it was for and let the runs go on."""
    try:
        work(*arguments)
    except Exception as error:
        where = debug_log.log_traceback(root, error)
        safe_text.say(f"could not {purpose}; the runs go on: {type(error).__name__}{where}")


def keep_ledger(sweep: Sweep, stop: threading.Event) -> None:
    """Keep the sweep's lock, and write the status of its runs, until `stop` is set.

    The lock is looked at every LOOK_EVERY_S; many runs are looked at less often, since reading
    their folders would take a share of the core that they train on.
    """
    keeper, due_s = LockKeeper(RunFolder(Path(str(sweep.dir)))), 0.0
    while not stop.wait(LOOK_EVERY_S):
        with contextlib.suppress(StorageError, StoppedError):  # the last write reports the error
            keeper.renew()
            if time.monotonic() >= due_s:
                began_s = time.thread_time()
                sweep = ledger.follow(sweep)
                due_s = time.monotonic() + progress.pause_s(time.thread_time() - began_s, 0.0)
    keeper.close()


def show_progress(dirs: Sequence[Path], steps: Sequence[int], stop: threading.Event) -> None:
    """Show on stderr how far the runs are, until `stop` is set or the terminal is closed."""
    console = Console(file=cast(IO[str], safe_text.Stream(sys.stderr)))
    with contextlib.suppress(OSError):  # the terminal is closed; the runs go on
        progress.watch(dirs, [path.name for path in dirs], steps, console, stop)
