"""Executes one job of a launch, in the process that the launcher has chosen."""

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
    """Execute run `number` of the launch. After a failure, request a stop of new runs if the retry
    policy or the circuit breaker demands it.

    `is_local`: this is the sweep's process `launcher_pid` or a child of it. `granted`: variables
    that the run may send; passed along, since a job on another machine lacks the user's settings.
    """
    process.keep_private()
    path = Path(dirs[number])
    if not is_local and nodes.is_of_several(path) and slurm_step.is_other_node():
        return nodes.help_run(path)
    if is_local and os.getpid() != launcher_pid:
        process.die_with(launcher_pid)  # immediately if the sweep has been killed already
        for stop in process.STOP_SIGNALS:
            signal.signal(stop, lambda *_: None)  # the sweep handles stop signals
    execute_run = retry.execute if is_local else _execute_on_cluster
    outcome = execute_run(path, retry_policy.retries, granted=granted)
    has_failed = retry.has_failed(outcome.status, outcome.reason)
    if has_failed and (retry_policy.stop or retry.breaker_trips(dirs)):
        stop_requests.request(path.parent, stop_requests.NO_NEW_RUNS)
    return outcome


def end_with(pid: int) -> Callable[[], None]:
    """Return an initializer for a launcher's workers, which ends each worker, even an idle one,
    when process `pid` ends.
    """
    return functools.partial(process.die_with, pid)


def _execute_on_cluster(path: Path, retries: int, granted: frozenset[Grant]) -> RunOutcome:
    """Execute the run in a cluster's job.

    If the cluster signals that the job will end, the run first saves its state; then the signal is
    raised again for the launcher's plugin, by which submitit requeues the job.
    """
    uses_several_nodes = nodes.is_of_several(path)
    if uses_several_nodes:
        retries = 0  # the helpers on the other nodes end with the attempt
    with process.deferred_signals(REQUEUE_SIGNALS) as signals:
        outcome = retry.execute(path, retries, lambda: bool(signals), granted)
    if uses_several_nodes and outcome.status != "done":  # a killed process told no helper
        place.tell_ended(RunFolder(path), f"ended with exit code {outcome.exit_code}")
    if signals and outcome.status not in ("done", "failed"):  # stopped or not started
        signal.raise_signal(signals[0])
    return outcome
