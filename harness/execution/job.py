"""One job of a launch, in whichever process the launcher executes it."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.config.grant import Grant
from harness.execution import nodes, retry, stop_requests
from harness.execution.child_process import RunOutcome
from harness.execution.retry import RetryPolicy
from harness.records.run_folder import RunFolder
from harness.train.ranks import place
from harness.utils import process, slurm_step

REQUEUE_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)
"""Signals at which submitit requeues a job; SIGUSR2 unless a cluster sets another."""


def execute(
    dirs: Sequence[str],
    number: int,
    launcher_pid: int,
    is_local: bool,
    retry_policy: RetryPolicy,
    granted: frozenset[Grant] = frozenset(),
) -> RunOutcome:
    """Execute run `number` of the launch, and have no more begun where one failure is enough.

    `is_local`: the sweep, process `launcher_pid`, executes it itself or by a child of its own.
    `granted`: what its process may send; a job on another machine has no settings of the user's.
    """
    process.keep_private()
    path = Path(dirs[number])
    if not is_local and nodes.is_of_several(path) and slurm_step.is_other_node():
        return nodes.help_run(path)
    if is_local and os.getpid() != launcher_pid:
        process.die_with(launcher_pid)  # at once where the sweep was killed before the job came
        for stop in process.STOP_SIGNALS:
            signal.signal(stop, lambda *_: None)  # one to the sweep is not for it to obey
    do = retry.execute if is_local else _execute_away
    outcome = do(path, retry_policy.retries, granted=granted)
    gave_up = retry.gave_up(outcome.status, outcome.reason)
    if gave_up and (retry_policy.stop or retry.trips(dirs)):
        stop_requests.request(path.parent, stop_requests.NO_NEW_RUNS)
    return outcome


def end_with(pid: int) -> Callable[[], None]:
    """Initializer for a launcher's workers: each ends when process `pid` does, also one that never
    gets a job.
    """
    return functools.partial(process.die_with, pid)


def _execute_away(path: Path, retries: int, granted: frozenset[Grant]) -> RunOutcome:
    """Execute the run in a cluster's job. If that is to end, the run first saves its state; then
    the launcher's plugin does what it would have done: submitit queues the job again.
    """
    of_several = nodes.is_of_several(path)
    if of_several:
        retries = 0  # its other nodes' jobs end with the attempt
    with process.put_off(REQUEUE_SIGNALS) as came:
        outcome = retry.execute(path, retries, lambda: bool(came), granted)
    if of_several and outcome.status != "done":  # its process may have been killed without a word
        place.tell_ended(RunFolder(path), f"ended with exit code {outcome.exit_code}")
    if came and outcome.status not in ("done", "failed"):  # stopped, or not even begun
        signal.raise_signal(came[0])
    return outcome
