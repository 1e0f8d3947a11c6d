"""Executes one run in the foreground: this process is replaced by the run's (exec).

The folder's lock is taken before the run is created and passed on, so that of several simultaneous
starts in one folder only one succeeds. Stop signals are deferred until the run's own process can
handle them; one that arrives before the first step leaves a run that can be resumed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import ConfigError, FolderError
from harness.execution import child_process, gpu_lease, nodes, preflight, run_lease, user_validity
from harness.execution.run_lease import RunLease
from harness.records import holder, run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.utils import process, safe_text


def start_run(path: Path, overrides: Sequence[str], events: str | None) -> NoReturn:
    """Create the run that `overrides` describe in `path`, and replace this process by it.

    Raises ConfigError for invalid overrides and for a folder that holds a run or foreign files,
    StoppedError if a live process holds the folder, FolderError, DeviceError.
    """
    process.defer_stops()
    from harness.compose import planner, typed_grants  # imports Hydra, which a resume avoids

    config = planner.point(overrides).config
    run = RunFolder(path.resolve())
    if nodes.is_helper(config):
        gpu_lease.check([config])
        nodes.become_helper(run, config)
    child_process.refuse_if_held(run)
    gpu_lease.check([config])
    grants = preflight.check([config], typed_grants.grants(overrides))
    notes = user_validity.check([config])
    preflight.check_disk_space([config], run.path)
    preflight.tell(grants)
    user_validity.tell(notes)
    try:
        run_folder.refuse_others(run)
    except ConfigError:
        child_process.refuse_if_held(run)  # another start may have come first
        raise
    try:
        run.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{run.path}: {error.strerror or error}") from error
    lock = holder.take(run)
    run_folder.create(run, config, user_validity.record(config))
    exec_run(run, config, events, lock, grants)


def exec_run(
    run: RunFolder,
    config: RunConfig,
    events: str | None,
    lock: int,
    grants: frozenset[Grant],
    extra_arguments: Sequence[str] = (),
) -> NoReturn:
    """Replace this process by the run's process.

    `lock`: descriptor of the folder's lock, which it inherits. `grants`: variables that it may
    send. `extra_arguments`: further arguments of its command.
    """
    is_over = run_status.read(run.status).is_over
    lease = RunLease()
    if not is_over:
        lease = run_lease.take(config, process.stop_is_due, safe_text.say)
    for descriptor in (lock, *lease.descriptors):
        os.set_inheritable(descriptor, True)  # held until the run's process ends
    arguments = ["--lock", str(lock), *(["--events", events] if events else []), *extra_arguments]
    command = child_process.command(run.path, arguments, grants)
    sys.stdout.flush()
    os.execve(command[0], command, child_process.environment(config, lease))
