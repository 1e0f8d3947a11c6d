"""Retries runs after transient failures, and the circuit breaker of a sweep."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.config.grant import Grant
from harness.errors import DataError, EndpointError, StorageError
from harness.execution import child_process, stop_requests
from harness.execution.child_process import RunOutcome
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.utils import safe_text

TRANSIENT = (EndpointError.exit_code, StorageError.exit_code)
"""Exit codes of transient failures; any other failure would happen again."""
RETRIES = 2
WAIT_S = 30.0
"""Wait before the first retry, doubled at each further one."""
POLL_S = 0.2


@dataclass(frozen=True)
class RetryPolicy:
    """What a sweep does when a run fails."""

    stop: bool = False
    """Whether to start no more runs after the first failure."""
    retries: int = RETRIES
    """Retries of a run that failed on an endpoint or disk error."""


DEFAULT = RetryPolicy()


def execute(
    path: Path,
    retries: int,
    interrupted: Callable[[], bool] = lambda: False,
    granted: frozenset[Grant] = frozenset(),
) -> RunOutcome:
    """Execute the run, and retry it up to `retries` times after a transient failure.

    run.json counts the attempts.
    """
    outcome = child_process.execute(path, interrupted, granted)
    for attempt in range(retries):
        if outcome.exit_code not in TRANSIENT or stop_requests.no_new_runs(path.parent):
            break
        wait_s = WAIT_S * 2**attempt
        safe_text.say(
            f"{path.name}: exit code {outcome.exit_code}; trying again in {wait_s:g} s "
            f"({attempt + 1} of {retries})"
        )
        if not _wait(path.parent, wait_s, interrupted):
            break
        outcome = child_process.execute(path, interrupted, granted)
    return outcome


def _wait(sweep: Path, wait_s: float, interrupted: Callable[[], bool]) -> bool:
    """Wait; False if the sweep is stopped or interrupted meanwhile."""
    deadline = time.monotonic() + wait_s
    while (
        not (ending := stop_requests.no_new_runs(sweep) or interrupted())
        and time.monotonic() < deadline
    ):
        time.sleep(POLL_S)
    return not ending


ALIKE = 3
"""Failures for one reason, without a success, after which no more runs are started."""
STEP = re.compile(r"step \d+")
ASKED = re.compile(r"stopped by SIG|after a stop request|interrupted twice")
"""Reasons of runs that stopped on request."""
NO_MORE_STARTED = (
    f"{ALIKE} runs failed for the same reason and none succeeded; remaining runs were not started"
)


def breaker_trips(dirs: Sequence[str]) -> bool:
    """Whether at least ALIKE runs of this launch have ended, all failed for the same reason."""
    runs = [RunFolder(Path(name)) for name in dirs]
    ended = [end for run in runs if (end := _read_end(run)) is not None]
    reasons = {(status.exit_code, STEP.sub("step", reason)) for status, reason in ended}
    status, reason = ended[0] if ended else (None, "")
    all_alike = len(ended) >= ALIKE and len(reasons) == 1
    return all_alike and status is not None and has_failed(status.status, reason)


def has_failed(status: str, reason: str | None) -> bool:
    """Whether a run ended before its last step without being asked to stop."""
    return status == "failed" or (status == "stopped" and not ASKED.search(reason or ""))


def _read_end(run: RunFolder) -> tuple[RunStatus, str] | None:
    """Return status and reason of a run that ended under the sweep's current holder, else None."""
    try:
        status = run_status.read(run.status)
        began = RunFolder(run.path.parent).holder.stat().st_mtime_ns
        has_ended = status.status == "done" or has_failed(status.status, status.reason)
        if not has_ended or run.status.stat().st_mtime_ns < began:
            return None
        return status, (status.reason or "").replace(str(run.path), "")
    except (DataError, OSError):
        return None
