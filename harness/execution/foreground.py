"""One run in the foreground: this process becomes the run's, with its signals and its exit code.

The folder's lock is taken before the run is made and handed over, so that of several starts in one
folder one wins and the others do nothing. A stop request is kept back until the run's own process
can obey it: before there is a step to finish, it leaves a run that can be resumed.
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


def begin(path: Path, overrides: Sequence[str], events: str | None) -> NoReturn:
    """Make the run that `overrides` describe in `path`, and become it.

    Raises ConfigError for wrong words and for a folder that holds a run or somebody's files,
    StoppedError where a live process holds it, FolderError, DeviceError.
    """
    process.defer_stops()
    from harness.compose import planner, typed_grants  # Hydra, which a resume does without

    config = planner.point(overrides).config
    where = RunFolder(path.resolve())
    if nodes.is_helper(config):
        gpu_lease.check([config])
        nodes.become_helper(where, config)
    child_process.refuse_if_held(where)
    gpu_lease.check([config])
    sends = preflight.check([config], typed_grants.grants(overrides))
    notes = user_validity.check([config])
    preflight.check_disk_space([config], where.path)
    preflight.tell(sends)
    user_validity.tell(notes)
    try:
        run_folder.refuse_others(where)
    except ConfigError:
        child_process.refuse_if_held(where)  # another start may have come first
        raise
    try:
        where.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{where.path}: {error.strerror or error}") from error
    lock = holder.take(where)
    run_folder.create(where, config, user_validity.record(config))
    become(where, config, events, lock, sends)


def become(
    where: RunFolder,
    config: RunConfig,
    events: str | None,
    lock: int,
    sends: frozenset[Grant],
    more: Sequence[str] = (),
) -> NoReturn:
    """Replace this process by the run's, which holds the folder by `lock` from its first moment
    and may send what is in `sends`; `more`: arguments of its command.
    """
    is_over = run_status.read(where).is_over
    lease = RunLease()
    if not is_over:
        lease = run_lease.take(config, process.stop_is_due, safe_text.say)
    for descriptor in (lock, *lease.descriptors):
        os.set_inheritable(descriptor, True)  # held until the run's process ends
    arguments = ["--lock", str(lock), *(["--events", events] if events else []), *more]
    command = child_process.command(where.path, arguments, sends)
    sys.stdout.flush()
    os.execve(command[0], command, child_process.environment(config, lease))
