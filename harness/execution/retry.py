"""A run of a sweep, tried again where what ended it may pass without anybody's help."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.config.grant import Grant
from harness.errors import EndpointError, StorageError
from harness.execution import child_process, stop_requests
from harness.execution.child_process import RunOutcome
from harness.utils import messages

TRANSIENT = (EndpointError.exit_code, StorageError.exit_code)
"""Another try meets another endpoint or disk; what else ends a run would end it again."""
RETRIES = 2
WAIT_S = 30.0
"""Before the first retry, doubled at each further one."""
POLL_S = 0.2


@dataclass(frozen=True)
class IfFailed:
    """What a sweep does once a run has failed."""

    stop: bool = False
    """Start no more."""
    retries: int = RETRIES
    """Of that run, where what ended it may pass."""


DEFAULT = IfFailed()


def execute(
    path: Path,
    retries: int,
    interrupted: Callable[[], bool] = lambda: False,
    granted: frozenset[Grant] = frozenset(),
) -> RunOutcome:
    """`run.execute`, and again up to `retries` times; run.json counts the attempts."""
    outcome = child_process.execute(path, interrupted, granted)
    for made in range(retries):
        if outcome.exit_code not in TRANSIENT or stop_requests.no_new_runs(path.parent):
            break
        wait_s = WAIT_S * 2**made
        messages.say(
            f"{path.name}: exit code {outcome.exit_code}; trying again in {wait_s:g} s "
            f"({made + 1} of {retries})"
        )
        if not _waited(path.parent, wait_s, interrupted):
            break
        outcome = child_process.execute(path, interrupted, granted)
    return outcome


def _waited(sweep: Path, wait_s: float, interrupted: Callable[[], bool]) -> bool:
    """False once the sweep is to start no more runs."""
    until = time.monotonic() + wait_s
    while (
        not (ending := stop_requests.no_new_runs(sweep) or interrupted())
        and time.monotonic() < until
    ):
        time.sleep(POLL_S)
    return not ending
