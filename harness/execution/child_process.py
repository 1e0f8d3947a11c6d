"""Executes one run as a child process, with its own memory and signals, so that a crash is
contained.

The child writes its run folder. The parent starts it, asks it to stop when the sweep stops, and
writes the end to run.json if the child could not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config import engine_choice
from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import HarnessError, StoppedError
from harness.execution import run_lease, stop_requests
from harness.execution.run_lease import RunLease
from harness.records import atomic, debug_log, holder, run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.trust import permission
from harness.utils import safe_path

POLL_S = 0.2
KILL_AFTER_S = 10.0
TAIL_BYTES = 64 * 1024
"""Bytes read from the end of train.log, which may be of any length."""


@dataclass(frozen=True)
class RunOutcome:
    """Result of one run."""

    dir: Path
    status: str
    reason: str | None
    exit_code: int | None


def execute(
    run_dir: Path,
    interrupted: Callable[[], bool] = lambda: False,
    granted: frozenset[Grant] = frozenset(),
) -> RunOutcome:
    """Train the run planned in `run_dir` to its end, or until its sweep stops or `interrupted()`.

    `granted`: environment variables that its process may send, and where to; the run folder cannot
    add any. Never raises: a failure is returned as an outcome.
    """
    run, root = RunFolder(run_dir), run_dir.parent
    try:
        config = run_folder.read_config(run)
        giving_up = lambda: stop_requests.no_new_runs(root) or interrupted()  # noqa: E731
        with run_lease.leased(config, giving_up) as lease:
            if stop_requests.no_new_runs(root):
                return _outcome(run, run_status.read(run.status))
            code = _supervise(run, config, lease, interrupted, granted)
        return _outcome(run, _settle(run, code, stop_requests.stop_runs(root) or interrupted()))
    except StoppedError:
        return _outcome(run, run_status.read(run.status))
    except HarnessError as error:
        return _give_up(run, str(error), error.exit_code)
    except Exception as error:
        return _give_up(
            run, f"{type(error).__name__}: {error}{debug_log.log_traceback(run_dir, error)}", 1
        )


def refuse_if_held(run: RunFolder) -> None:
    """Raise StoppedError, naming the process, if a live one holds the folder."""
    process_id = holder.holder(run)
    if process_id is not None:
        raise StoppedError(f"{run.path}: held by process {process_id}")


def _supervise(
    run: RunFolder,
    config: RunConfig,
    lease: RunLease,
    interrupted: Callable[[], bool],
    granted: frozenset[Grant],
) -> int:
    """Run the child and return its exit code, -N if signal N ended it."""
    words = command(run.path, ["--die-with-parent", str(os.getpid())], granted)
    run_folder.refuse_links(run)  # the log below among them
    with os.fdopen(atomic.open_to_append(run.log), "ab") as log:
        child = subprocess.Popen(
            words,
            env=environment(config, lease),
            pass_fds=lease.descriptors,  # keeps the GPU leased until the child has ended
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    stopping = lambda: stop_requests.stop_runs(run.path.parent) or interrupted()  # noqa: E731
    return wait(child, stopping, config.trainer.grace_s)


def wait(child: subprocess.Popen[bytes], stopping: Callable[[], bool], grace_s: float) -> int:
    """Wait for `child`, the leader of a process group, and return its exit code.

    Once `stopping()` is true, it is terminated, and killed if it has not ended after `grace_s` and
    KILL_AFTER_S. Finally the rest of its process group is killed.
    """
    deadline: float | None = None
    try:
        while not _has_ended(child):
            if deadline is None and stopping():
                child.terminate()
                deadline = time.monotonic() + grace_s + KILL_AFTER_S
            elif deadline is not None and time.monotonic() > deadline:
                child.kill()
    finally:
        if child.returncode is None:  # not reaped yet, so its pid and group cannot be reused
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
    return child.wait()


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child ends within POLL_S. Does not reap it where the system has waitid."""
    if not hasattr(os, "waitid"):  # macOS, before Python 3.13
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=POLL_S)
        return child.returncode is not None
    deadline, pause_s = time.monotonic() + POLL_S, 0.001
    while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.05)
    return True


def _settle(run: RunFolder, code: int, stopping: bool) -> RunStatus:
    """Return the run's status, after correcting run.json if the child ended without writing it."""
    status = run_status.read(run.status)
    has_written = status.exit_code == code and status.status in ("done", "failed", "stopped")
    if has_written or holder.holder(run) is not None:
        return status
    outcome = _infer_outcome(run, code, stopping)
    status = replace(status, status=outcome[0], reason=outcome[1], exit_code=outcome[2])
    run_status.write(run.status, status)
    return status


def _infer_outcome(run: RunFolder, code: int, stopping: bool) -> tuple[str, str, int]:
    """Return status, reason and exit code of a run whose process could not write them itself."""
    if code < 0 and stopping:
        return "stopped", "stopped with its sweep or its job", StoppedError.exit_code
    if code < 0:
        return "failed", f"killed by signal {-code}", 128 - code
    if code == 0:
        return "failed", "ended early, with exit code 0", code
    return "failed", _last_line(run), code


def _give_up(run: RunFolder, reason: str, code: int) -> RunOutcome:
    with contextlib.suppress(HarnessError):
        status = run_status.read(run.status)
        run_status.write(
            run.status, replace(status, status="failed", reason=reason, exit_code=code)
        )
    return RunOutcome(run.path, "failed", reason, code)


def _outcome(run: RunFolder, status: RunStatus) -> RunOutcome:
    return RunOutcome(run.path, status.status, status.reason, status.exit_code)


def _last_line(run: RunFolder) -> str:
    with run.log.open("rb") as file:
        file.seek(max(run.log.stat().st_size - TAIL_BYTES, 0))
        lines = file.read(TAIL_BYTES).decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:500] if lines else "ended without any output"


def command(run_dir: Path, arguments: list[str], granted: frozenset[Grant]) -> list[str]:
    """Return the command that starts a run's process, which may send the `granted` variables."""
    send = [word for grant in sorted(granted) for word in ("--send", permission.to_word(grant))]
    # -P: the current folder may contain a module named harness or one that shadows a library
    return [sys.executable, "-P", "-m", "harness.train", str(run_dir), *arguments, *send]


def environment(config: RunConfig, lease: RunLease) -> dict[str, str]:
    """Return the environment of a run's process: its threads, GPUs and vLLM server."""
    threads = str(config.trainer.threads)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {
        **os.environ,
        **dict.fromkeys(names, threads),
        safe_path.VARIABLE: "1",
        "CUDA_VISIBLE_DEVICES": lease.gpu.visible,
        engine_choice.LEASED: lease.engine.url,
        "PYTHONHASHSEED": "0",  # so that the order of sets cannot affect results
    }
