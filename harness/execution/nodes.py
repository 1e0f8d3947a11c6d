"""Runs on several nodes of a cluster: Slurm starts the command on each node.

On the first node it becomes the run with rank 0. On the others it becomes the run's helper
(`harness/train/ranks/node.py`), with the GPUs of its node leased.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from harness.config.run import RunConfig
from harness.errors import ConfigError, HarnessError
from harness.execution import child_process, run_lease
from harness.execution.child_process import RunOutcome
from harness.execution.run_lease import RunLease
from harness.records import run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.utils import process, safe_text, slurm_step

HELPER = "harness.train.ranks.node"


def check_launcher(configs: Iterable[RunConfig], slurm_nodes: int | None) -> None:
    """Raise ConfigError if the launcher does not start a run on its number of nodes.

    `slurm_nodes`: nodes per Slurm job; None for another launcher.
    """
    for node_count in {config.trainer.nodes for config in configs} - {slurm_nodes or 1}:
        launcher = f"hydra.launcher.nodes={slurm_nodes}" if slurm_nodes else "another launcher"
        raise ConfigError(
            f"trainer.nodes={node_count} must be started by "
            f"{slurm_step.HOW.format(n=node_count)}, got {launcher}"
        )


def is_helper(config: RunConfig) -> bool:
    """Whether this process is on another node of the run than the first.

    Raises ConfigError if the run needs several nodes and Slurm has not started it on them.
    """
    nodes = config.trainer.nodes
    return nodes > 1 and slurm_step.read(nodes).node > 0


def is_of_several(path: Path) -> bool:
    """Whether the run in `path` uses several nodes; False if its config cannot be read."""
    with contextlib.suppress(HarnessError):
        return run_folder.read_config(RunFolder(path)).trainer.nodes > 1
    return False


def become_helper(run: RunFolder, config: RunConfig) -> NoReturn:
    """Replace this process by the run's helper on this node. Raises DeviceError, StoppedError."""
    lease = run_lease.take(config, process.stop_is_due, safe_text.say)
    for descriptor in lease.descriptors:
        os.set_inheritable(descriptor, True)
    words = _command(run.path, config)
    sys.stdout.flush()
    os.execve(words[0], words, child_process.environment(config, lease))


def help_run(path: Path) -> RunOutcome:
    """Help with the run in `path`, as a job of a sweep, until it ends; return its outcome."""
    run = RunFolder(path)
    config = run_folder.read_config(run)
    with (
        process.deferred_signals(
            (signal.SIGUSR1, signal.SIGUSR2)
        ),  # the first node's job handles these
        run_lease.leased(config, lambda: False) as lease,
    ):
        _wait(run, config, lease)
    status = run_status.read(run.status)
    return RunOutcome(path, status.status, status.reason, status.exit_code)


def _wait(run: RunFolder, config: RunConfig, lease: RunLease) -> None:
    words = [*_command(run.path, config), "--die-with-parent", str(os.getpid())]
    subprocess.run(
        words,
        env=child_process.environment(config, lease),
        pass_fds=lease.descriptors,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )


def _command(path: Path, config: RunConfig) -> list[str]:
    nodes = str(config.trainer.nodes)
    return [sys.executable, "-P", "-m", HELPER, str(path), "--nodes", nodes]
