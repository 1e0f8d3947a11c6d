"""Slurm: one job per run, submitted through submitit and followed in Slurm's queue.

The run folder shows how a run ended, and the queue shows whether a job will still work on it. So a
job that Slurm requeues, after a preemption or the loss of its node, is waited for like any other,
and Slurm's accounting, which not every cluster has, is not needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.compose.launcher_settings import QUEUE
from harness.config.grant import Grant
from harness.errors import DeviceError
from harness.execution import job, stop_requests
from harness.execution.child_process import RunOutcome
from harness.execution.retry import RetryPolicy
from harness.utils import safe_text

PLUGIN = "submitit_slurm"
SHARED = (*QUEUE, "name")
"""Settings that submitit accepts for every kind of cluster; others get the prefix slurm_."""
OF_THE_PLUGIN = ("_target_", "submitit_folder", "max_num_timeout", "name")
COLUMNS = {"JobArrayID": 64, "State": 32, "Reason": 128, "StdOut": 4096}
"""Columns of squeue's output and their widths; squeue cuts longer values."""
PENDING = "PENDING"
SHORTEST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
"""Wait between two queries: Slurm asks users not to poll often."""
ANSWER_S = 120.0


@dataclass(frozen=True)
class QueuedJob:
    """A job that has not ended."""

    name: str
    """Job number, in an array with the task number: `12_0`."""
    state: str
    reason: str
    """Slurm's reason why the job is pending."""


@dataclass(frozen=True)
class Task:
    """The callable that submitit executes in the jobs of one launch."""

    dirs: tuple[str, ...]
    retry_policy: RetryPolicy
    granted: frozenset[Grant]

    def __call__(self, number: int) -> RunOutcome:
        return job.execute(self.dirs, number, 0, False, self.retry_policy, self.granted)

    def checkpoint(self, number: int) -> Any:
        """Return the task to execute after a requeue: the same one. Called by submitit."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, number)


def check() -> None:
    """Raise DeviceError if Slurm's programs are not on this machine."""
    for program in ("sbatch", "squeue", "scancel"):
        if shutil.which(program) is None:
            rule = "must be started on a machine of the cluster"
            raise DeviceError(f"hydra/launcher=slurm: {rule}; {program} is not on the PATH")


def execute(task: Task, settings: Mapping[str, Any], sweep: Path, logs: Path) -> None:
    """Submit one job per run of `task`, and return once no job of the sweep is in the queue.

    `settings`: of the launcher plugin, by name. `logs`: folder for batch scripts and output.
    Raises DeviceError if there is no Slurm or it refuses the jobs.
    """
    _submit(task, settings, sweep, logs)
    wait(sweep)


def _submit(task: Task, settings: Mapping[str, Any], sweep: Path, logs: Path) -> None:
    import submitit

    plugin_settings = {key: value for key, value in settings.items() if key not in OF_THE_PLUGIN}
    words = {
        key if key in SHARED else f"slurm_{key}": value for key, value in plugin_settings.items()
    }
    name = settings.get("name") or ""
    if not name or "${" in name:  # the plugin's default, an interpolation for Hydra
        name = f"harness-{sweep.name}"
    try:
        executor = submitit.AutoExecutor(
            logs / "%j", cluster="slurm", slurm_max_num_timeout=settings["max_num_timeout"]
        )
        executor.update_parameters(name=name, **words)
        executor.map_array(task, range(len(task.dirs)))
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:  # what submitit raises
        raise DeviceError(
            f"hydra/launcher=slurm: {_describe_queue(sweep)}: {_error_text(error)}"
        ) from error


def _describe_queue(sweep: Path) -> str:
    """Describe the jobs that a failed submission has left in the queue."""
    try:
        count = len(queued(sweep))
    except DeviceError:
        return "it is not known whether a job was submitted"
    return (
        f"{count} jobs are in the queue, and not all were submitted"
        if count
        else "no job was submitted"
    )


def _error_text(error: Exception) -> str:
    """Extract sbatch's own messages from submitit's error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    messages = [line.split("error: ", 1)[1] for line in lines if line.startswith("sbatch: error: ")]
    return "; ".join(dict.fromkeys(messages)) or (lines[0] if lines else type(error).__name__)


def queued(sweep: Path) -> list[QueuedJob]:
    """Return this user's pending and running jobs for the sweep, of any launch.

    Jobs are recognised by their output path below the sweep's folder, not by a file in it, which
    could come from somebody else. Raises DeviceError if Slurm does not answer.
    """
    columns = ",".join(f"{name}:{width}" for name, width in COLUMNS.items())
    words = ["squeue", "--noheader", "--array", f"--user={os.getuid()}", "--Format", columns]
    prefix = f"{sweep.resolve()}{os.sep}"
    rows = [_cells(line) for line in _output_of(words).splitlines()]
    return [QueuedJob(*cells[:3]) for cells in rows if cells[3].startswith(prefix)]


def _cells(line: str) -> list[str]:
    cells, start = [], 0
    for width in COLUMNS.values():
        cells.append(line[start : start + width].strip())
        start += width
    return cells


def _output_of(words: Sequence[str]) -> str:
    try:
        result = subprocess.run(
            words, capture_output=True, text=True, timeout=ANSWER_S, check=True, errors="replace"
        )
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        raise DeviceError(f"{words[0]}: {lines[-1]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeviceError(f"{words[0]}: {error}") from error
    return result.stdout


def wait(sweep: Path) -> None:
    """Return once no job of the sweep is in the queue.

    If the sweep must start no more runs, pending jobs are cancelled; running jobs handle the stop
    request themselves.
    """
    printed, began = "", time.monotonic()
    while True:
        try:
            jobs = queued(sweep)
            if not jobs:
                return
            if stop_requests.no_new_runs(sweep):
                _cancel(pending := [entry for entry in jobs if entry.state == PENDING])
                jobs = [entry for entry in jobs if entry not in pending]
            news = _describe_pending(jobs)
        except DeviceError as error:
            news = f"Slurm does not answer, waiting (Ctrl-C twice ends the sweep): {error}"
        if news and news != printed:
            safe_text.say(news)
            printed = news
        elapsed_s = time.monotonic() - began
        _pause(sweep, min(LONGEST_WAIT_S, max(SHORTEST_WAIT_S, elapsed_s / 20)))


def _describe_pending(jobs: Sequence[QueuedJob]) -> str:
    """Describe how many jobs are pending and why; empty if none is, or without a reason yet."""
    waiting = [entry for entry in jobs if entry.state == PENDING and entry.reason != "None"]
    reasons = ", ".join(sorted({entry.reason for entry in waiting}))
    return f"Slurm: {len(waiting)} of {len(jobs)} jobs pending ({reasons})" if waiting else ""


def _cancel(jobs: Sequence[QueuedJob]) -> None:
    """Cancel the jobs that are still pending."""
    if jobs:
        _output_of(["scancel", f"--state={PENDING}", *(entry.name for entry in jobs)])


def _pause(sweep: Path, wait_s: float) -> None:
    """Wait for `wait_s`, or until a stop of new runs is requested."""
    deadline, was_stopped = time.monotonic() + wait_s, stop_requests.no_new_runs(sweep)
    while time.monotonic() < deadline and stop_requests.no_new_runs(sweep) == was_stopped:
        time.sleep(min(SHORTEST_WAIT_S, wait_s))
