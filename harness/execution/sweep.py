"""Executes the unfinished runs of a sweep."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent import futures
from dataclasses import replace
from pathlib import Path

from harness import simulator
from harness.compose import planner
from harness.compose.launcher_settings import Launcher
from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import (
    EXIT_PARTIAL,
    ConfigError,
    HarnessError,
    StoppedError,
    VersionError,
)
from harness.execution import (
    difficulty_cards,
    gpu_lease,
    launcher,
    ledger,
    preflight,
    relaunch,
    retry,
    slurm,
    start_model,
    stop_requests,
    user_validity,
    watching,
)
from harness.execution.retry import RetryPolicy
from harness.records import (
    compatibility,
    config_file,
    debug_log,
    holder,
    run_folder,
    run_state,
)
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep
from harness.utils import safe_text

OBEY_EVERY_S = 1.0


def execute(
    root: Path,
    retry_policy: RetryPolicy = retry.DEFAULT,
    only: Collection[str] | None = None,
    granted: frozenset[Grant] = frozenset(),
) -> tuple[Sweep, int]:
    """Execute the unfinished runs of the sweep in `root`; return its ledger and the exit code.

    `only`: names of the runs to execute, which also determine the exit code; None for all.
    `granted`: environment variables that may be sent, of which the user has been told. Others
    that the runs need must have been confirmed by the user before.
    Raises StoppedError if another process executes this sweep, ConfigError if a package is missing.
    """
    with holder.hold(RunFolder(root)), debug_log.logged_bugs(root):
        compatibility.refuse_newer_sweep(root)
        stop_requests.clear(root)
        sweep = ledger.read(root)
        chosen = launcher.chosen(sweep.command)
        sweep = _wait_for_earlier_jobs(ledger.refresh(sweep), chosen)
        sweep, ready = _find_ready(sweep, only)
        if ready:
            launcher.check(chosen, ready.values())
        if chosen.is_local:
            gpu_lease.check(ready.values())
        grants = preflight.check(ready.values(), granted)
        preflight.tell(grants - granted)
        sweep, ready = _create_missing(sweep, ready)
        if ready and not stop_requests.no_new_runs(root):
            dirs = sorted(ready, key=lambda path: gpu_lease.start_order(ready[path]))
            configs = [ready[path] for path in dirs]
            with stop_requests.on_signals(root, dirs) as obey:
                if start_model.prepare(configs, root):
                    with (
                        difficulty_cards.measured_in_background(root),
                        watching.watched(sweep, dirs, configs),
                    ):
                        at_once = gpu_lease.runs_at_once(configs)
                        begin = functools.partial(
                            launcher.execute,
                            launcher=chosen,
                            runs_at_once=at_once,
                            retry_policy=retry_policy,
                            granted=grants,
                        )
                        launch = (
                            begin
                            if chosen.is_local
                            else functools.partial(_launch_on_cluster, begin, obey)
                        )
                        relaunch.execute(root, dirs, launch)
        sweep = ledger.refresh(sweep)
        if stop_requests.no_new_runs(root) and not (
            retry_policy.stop or stop_requests.stop_runs(root)
        ):
            safe_text.say(retry.NO_MORE_STARTED)
        return sweep, _exit_code(root, select_rows(sweep, only))


def _wait_for_earlier_jobs(sweep: Sweep, chosen: Launcher) -> Sweep:
    """Wait for a cluster's jobs of an earlier launch, and return the refreshed sweep.

    Such jobs outlive a killed sweep, and hold the run folders that new jobs would need.
    """
    root = Path(str(sweep.dir))
    if all(row.status == "done" for row in sweep.runs):
        return sweep
    launcher.check(chosen)
    jobs = launcher.count_queued(chosen, root)
    if not jobs:
        return sweep
    safe_text.say(f"waiting for {jobs} jobs of an earlier launch, which Slurm still has")
    runs: dict[Path, RunConfig] = {}
    for row in sweep.runs:
        with contextlib.suppress(HarnessError):
            runs[Path(str(row.dir))] = run_folder.read_config(RunFolder(Path(str(row.dir))))
    with (
        stop_requests.on_signals(root, [*runs]),
        watching.watched(sweep, [*runs], [*runs.values()]),
    ):
        slurm.wait(root)
    return ledger.refresh(sweep)


def select_rows(sweep: Sweep, only: Collection[str] | None) -> list[LedgerRow]:
    """Return the rows with the names in `only`; all rows for None."""
    return [row for row in sweep.runs if only is None or row.name in only]


def _find_ready(sweep: Sweep, only: Collection[str] | None) -> tuple[Sweep, dict[Path, RunConfig]]:
    """Return the unfinished runs that can be executed, with their configs.

    Runs with unusable configs or folders are marked as failed in the sweep.
    """
    ready: dict[Path, RunConfig] = {}
    unusable: dict[str, HarnessError] = {}
    for row in ledger.unfinished(replace(sweep, runs=select_rows(sweep, only))):
        path = Path(str(row.dir))
        try:
            ready[path] = _config_of(row, RunFolder(path))
        except VersionError as error:  # unchanged, so that the other version can continue it
            safe_text.say(str(error))
        except HarnessError as error:
            unusable[row.name] = error
    return ledger.mark_failed(sweep, unusable), ready


def _config_of(row: LedgerRow, run: RunFolder) -> RunConfig:
    """Return the run's config; if its folder is missing, compose it from its overrides."""
    if run.is_run():
        compatibility.refuse_newer(run)
        compatibility.refuse_other_simulator(run, simulator.VERSION)
        return run_folder.read_config(run)
    try:
        run_folder.refuse_others(run)
    except ConfigError as error:
        raise run_state.missing_status(run) from error
    return _planned_again(row, run)


AS_PLANNED = (
    "resume the sweep in the folder that it was started in, whose conf/ and sweeps/ it may need, "
    "with the version that planned it"
)


def _planned_again(row: LedgerRow, run: RunFolder) -> RunConfig:
    """Compose the config of a run whose folder is missing.

    Raises ConfigError if that fails, or gives another config than the planned one.
    """
    try:
        config = planner.point(row.overrides).config
    except ConfigError as error:
        why = f"is missing, and its config cannot be composed again: {error}"
        raise ConfigError(f"{run.path}: {why}; {AS_PLANNED}") from error
    if row.planned_hash not in (None, composed := config_file.choices_hash(config)):
        rule = f"is missing, and must be planned again with its config, {row.planned_hash}"
        raise ConfigError(f"{run.path}: {rule}; its words now give {composed}: {AS_PLANNED}")
    return config


def _create_missing(
    sweep: Sweep, ready: Mapping[Path, RunConfig]
) -> tuple[Sweep, dict[Path, RunConfig]]:
    """Create the missing run folders; runs whose folder cannot be created are marked as failed."""
    created: dict[Path, RunConfig] = {}
    unusable: dict[str, HarnessError] = {}
    for path, config in ready.items():
        run = RunFolder(path)
        try:
            if not run.is_run():
                _make_again(run, config)
            created[path] = config
        except HarnessError as error:
            unusable[path.name] = error
    return ledger.mark_failed(sweep, unusable), created


def _make_again(run: RunFolder, config: RunConfig) -> None:
    try:
        run_folder.create(run, config, user_validity.record(config))
    except ConfigError as error:
        raise run_state.missing_status(run) from error


def _launch_on_cluster(
    begin: Callable[[Sequence[Path]], object], obey: Callable[[], object], dirs: Sequence[Path]
) -> None:
    """Call `begin` with a cluster's launcher, and reinstall the signal handlers meanwhile.

    Ray replaces the handler of SIGTERM by one that would end this process without a message.
    """
    with futures.ThreadPoolExecutor(1) as pool:  # only the main thread may set signal handlers
        future = pool.submit(begin, dirs)
        while not futures.wait([future], OBEY_EVERY_S).done:
            obey()
        future.result()


def _exit_code(root: Path, rows: Sequence[LedgerRow]) -> int:
    if all(row.status == "done" for row in rows):
        return 0
    return StoppedError.exit_code if stop_requests.stop_runs(root) else EXIT_PARTIAL
