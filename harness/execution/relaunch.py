"""Launches the runs of a sweep until each has ended, even if workers are killed.

If one joblib worker is killed, for instance by the out-of-memory killer, joblib ends all workers of
the launch, and each run dies with its worker. The next launch continues them from their
checkpoints.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from harness.errors import DataError, HarnessError
from harness.execution import stop_requests
from harness.records import debug_log, holder, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.utils import safe_text

MOST_LOSSES = 3
"""Number of lost workers after which a run is marked as failed, since it may be the cause."""
KILLED = 128 + 9
LAST_WAIT_S = 10.0
POLL_S = 0.1
Launch = Callable[[Sequence[Path]], object]


def execute(sweep: Path, dirs: Sequence[Path], launch: Launch) -> None:
    """Launch the runs until all have ended, the sweep is stopped, or its launcher fails.

    Raises the HarnessError that `launch` raises; other errors are printed and logged.
    """
    losses: Counter[Path] = Counter()
    empty_launches, remaining = 0, list(dirs)
    while remaining:
        statuses = {path: _status(path) for path in remaining}
        if not _worker_was_killed(sweep, launch, remaining) or stop_requests.no_new_runs(sweep):
            return
        _wait_until_free(remaining)
        started = [path for path in remaining if _status(path).attempts > statuses[path].attempts]
        killed = [path for path in started if _status(path).status == "running"]
        empty_launches = 0 if started else empty_launches + 1
        if empty_launches == MOST_LOSSES:
            return
        losses.update(killed)
        given_up = [path for path in killed if losses[path] == MOST_LOSSES]
        for path in given_up:
            _give_up(path)
        ended = {*started} - {*killed} | {*given_up}
        remaining = [
            path
            for path in remaining
            if path not in ended and holder.holder(RunFolder(path)) is None
        ]
        if remaining:
            safe_text.say(
                f"{len(remaining)} runs are launched again; started runs continue from checkpoints"
            )


def _worker_was_killed(sweep: Path, launch: Launch, dirs: Sequence[Path]) -> bool:
    try:
        launch(dirs)
    except HarnessError:
        raise
    except BrokenProcessPool:
        safe_text.say(
            "the launcher failed: one of its workers was killed, and the others ended with it"
        )
        return True
    except Exception as error:  # the launcher's own failure; the runs' files are intact
        where = debug_log.log_traceback(sweep, error)
        safe_text.say(f"the launcher failed: {type(error).__name__}: {error}{where}")
    return False


def _wait_until_free(dirs: Sequence[Path]) -> None:
    """Wait until the runs have ended, which takes a moment after their workers have."""
    deadline = time.monotonic() + LAST_WAIT_S
    while time.monotonic() < deadline and any(holder.holder(RunFolder(path)) for path in dirs):
        time.sleep(POLL_S)


def _status(path: Path) -> RunStatus:
    try:
        return run_status.read(RunFolder(path).status)
    except DataError:
        return RunStatus()


def _give_up(path: Path) -> None:
    reason = f"the launcher's worker was killed {MOST_LOSSES} times"
    ended = replace(_status(path), status="failed", reason=reason, exit_code=KILLED)
    run_status.write(RunFolder(path).status, ended)
