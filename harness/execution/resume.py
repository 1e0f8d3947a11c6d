"""Resume and status of a folder that is a run or a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from harness import simulator
from harness.config.grant import Grant
from harness.errors import ConfigError, DataError, StoppedError
from harness.execution import foreground, nodes, preflight
from harness.records import compatibility, holder, run_folder, run_state, run_status, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import Sweep
from harness.utils import missing_path, process, slurm_step

NEITHER = f"neither a run nor a sweep: no run.json, no {sweep_file.FILE}"
STATUS_OF_EXIT = {0: "done", StoppedError.exit_code: "stopped"}


def resume(
    path: Path, events: str | None, stop_again: bool = False, ranks: int | None = None
) -> tuple[Sweep, int]:
    """Continue the run or the sweep in `path`.

    For a run, this process becomes the run's; for a sweep, returns its ledger and exit code.
    `stop_again`: keep applying trainer.stop_when to a run that it has ended. `ranks`: number of
    ranks to continue with; None for that of the config. Raises ConfigError if either is given for a
    sweep, DataError if there is nothing to resume, StoppedError if a live process holds the folder.
    """
    _refuse_unreadable(path)
    if not is_sweep(path):
        _resume_run(path, events, stop_again, ranks)
    for option, is_given in (("--stop-again", stop_again), ("--ranks", ranks is not None)):
        if is_given:
            raise ConfigError(f"{option}: must be given with a run, got the sweep {path}")
    return _resume_sweep(path, events)


def _resume_run(path: Path, events: str | None, stop_again: bool, ranks: int | None) -> NoReturn:
    run = RunFolder(path.resolve())
    if not run.is_run():
        raise DataError(f"{path}: nothing to resume: {missing_path.why(path) or NEITHER}")
    compatibility.refuse_newer(run)
    config, arguments = run_folder.read_config(run), ["--stop-again"] if stop_again else []
    if ranks is not None:
        config, arguments = config.on_ranks(ranks), [*arguments, "--ranks", str(ranks)]
    grants = frozenset[Grant]()
    is_over = run_status.read(run.status).is_over
    if is_over and slurm_step.is_other_node():
        raise SystemExit(0)
    if not is_over:
        if nodes.is_helper(config):
            nodes.become_helper(run, config)
        compatibility.refuse_other_simulator(run, simulator.VERSION)
        grants = preflight.check([config])
        preflight.tell(grants)
    process.defer_stops()
    foreground.exec_run(run, config, events, holder.take(run), grants, arguments)


def status(path: Path) -> dict[str, Any]:
    """Return the contents of run.json or sweep.json, with the statuses shown to users.

    Raises DataError if `path` is neither a run nor a sweep, or the file cannot be read.
    """
    _refuse_unreadable(path)
    if is_sweep(path):
        from harness.execution import ledger

        return ledger.read_for_display(path).to_json()
    run = RunFolder(path)
    if not run.is_run():
        raise DataError(f"{path}: {missing_path.why(path) or NEITHER}")
    recorded, state = run_status.read(run.status), run_state.of(run)
    shown = replace(recorded, status=state.status, reason=state.reason, exit_code=state.exit_code)
    return shown.to_json()


def _refuse_unreadable(path: Path) -> None:
    """Raise DataError for a loop of links and for a folder without read permission."""
    try:
        (path.resolve() / sweep_file.FILE).is_file()
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: must be a folder that can be read, got: {why}") from error


def is_sweep(path: Path) -> bool:
    return (path / sweep_file.FILE).is_file()


def _resume_sweep(path: Path, events: str | None) -> tuple[Sweep, int]:
    from harness.execution import sweep as sweeps

    sweep, code = sweeps.execute(path.resolve())
    if events:
        for row in sweep.runs:
            ended = {"name": row.name, "status": row.status, "exit_code": row.exit_code}
            _emit({"event": "run", **ended})
        _emit({"event": "end", "status": STATUS_OF_EXIT.get(code, "failed"), "exit_code": code})
    return sweep, code


def _emit(event: Mapping[str, Any]) -> None:
    print(json.dumps(event), flush=True)
