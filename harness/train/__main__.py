"""The child process of one run: `python -m harness.train RUN_DIR [--events jsonl]`.

Everything that the run needs is in its folder, and everything it writes goes there; its exit code
is also in run.json.
"""

from __future__ import annotations

import argparse
import gc
import json
import pickle
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from harness import simulator
from harness.config.run import RunConfig
from harness.errors import (
    ConfigError,
    DataError,
    EarlyEnd,
    EndpointError,
    HarnessError,
    StoppedError,
    StorageError,
)
from harness.records import (
    atomic,
    compatibility,
    debug_log,
    holder,
    metric_rows,
    run_folder,
    run_status,
    soundness,
)
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train import trackers
from harness.train.loop import device_errors, resume_checks
from harness.train.loop import session as sessions
from harness.train.loop.progress_lines import Emit, jsonl_emitter, line_printer
from harness.train.loop.session import Session
from harness.train.ranks import place
from harness.trust import permission
from harness.utils import process, safe_text

NO_CHECKPOINT = (pickle.UnpicklingError, UnicodeDecodeError, json.JSONDecodeError)
UNCOLLECTED = 1_000_000
"""New objects before the garbage collector runs: more than the conversations of a batch or an
evaluation consist of. These have no cycles and are freed as soon as they are no longer needed."""


def main() -> int:
    process.open_descriptors()
    process.defer_stops()
    for number in process.STOP_SIGNALS:
        signal.signal(number, _stop_before_start)
    arguments = _parser().parse_args()
    if arguments.die_with_parent is not None:
        process.die_with(arguments.die_with_parent)
    run = RunFolder(arguments.run_dir)
    code = _run(run, arguments)
    if code:
        place.tell_ended(run, f"ended with exit code {code}")
    return code


def _run(run: RunFolder, arguments: argparse.Namespace) -> int:
    """Attempt the run and return its exit code, whatever goes wrong."""
    emit = _both(jsonl_emitter(arguments.events == "jsonl"), line_printer(sys.stderr, run.path))
    try:
        process.keep_private()
        if not run.is_run():
            raise DataError(f"{run.path}: must be a run folder, found no {run.status.name} in it")
        grants = [permission.parse_word(word) for word in arguments.send]
        with holder.hold(run, arguments.lock), permission.temporarily_granted(grants):
            return attempt(run, emit, arguments.stop_again, arguments.ranks)
    except HarnessError as error:
        safe_text.say(str(error))
        return error.exit_code
    except OSError as error:  # such as a folder that may not be read
        safe_text.say(f"{error.filename or run.path}: {error.strerror or error}")
        return StorageError.exit_code
    except Exception as error:
        where = debug_log.log_traceback(run.path, error)
        safe_text.say(f"internal error: {type(error).__name__}: {error}{where}")
        return 1


def attempt(run: RunFolder, emit: Emit, stop_again: bool = False, ranks: int | None = None) -> int:
    """Make one attempt at the run under the folder's lock and return its exit code, which is also
    in run.json.

    `stop_again`: obey trainer.stop_when even if it has ended this run before. `ranks`: number of
    ranks; None for the config's.
    """
    compatibility.refuse_newer(run)
    config = run_folder.read_own_config(run)
    config = config if ranks is None else config.on_ranks(ranks)
    status = run_status.read(run.status)
    change = compatibility.config_change(run, status)
    if change:
        raise ConfigError(change)
    if status.is_over and not soundness.damage(run, status) and _rows_are_sound(run, status):
        emit({"event": "resume", "step": status.last_step})
        emit({"event": "end", "status": "done", "exit_code": 0})
        return 0
    compatibility.refuse_other_simulator(run, simulator.VERSION)
    resume_checks.refuse_lost_algorithm_files(run, config)
    attempts, version = status.attempts + 1, simulator.VERSION
    running = replace(status, status="running", attempts=attempts, simulator_version=version)
    if stop_again:
        running = replace(running, stopped_by_rule=None)
    run_status.write(run.status, replace(running, reason=None, exit_code=None))
    name, reason, code = _attempt(run, config, emit)
    try:
        final = replace(run_status.read(run.status), status=name, reason=reason, exit_code=code)
        run_status.write(run.status, final)
    except HarnessError as error:  # such as a full disk; the released lock still shows the end
        safe_text.say(str(error))
        name, code = "failed", code or StorageError.exit_code
    emit({"event": "end", "status": name, "exit_code": code})
    return code


def _rows_are_sound(run: RunFolder, status: RunStatus) -> bool:
    """Return whether no row is damaged or changed; otherwise an attempt at the run reports it."""
    with atomic.storage_errors(run.metrics):
        scan = metric_rows.scan(run.metrics)
    return scan.problem is None and soundness.other_rows(run, status, scan) is None


def _attempt(run: RunFolder, config: RunConfig, emit: Emit) -> tuple[str, str | None, int]:
    """Return the status, the reason and the exit code."""
    try:
        process.admit_stops()
        with (
            trackers.reporting(run, config) as tell,
            sessions.open_session(run, config, _both(emit, tell)) as session,
        ):
            session.reach_users()
            _train(session)
    except EarlyEnd as error:
        safe_text.say(str(error))
        return "done", str(error), error.exit_code
    except (StoppedError, EndpointError) as error:
        safe_text.say(str(error))
        return "stopped", str(error), error.exit_code
    except HarnessError as error:
        safe_text.say(str(error))
        return "failed", str(error), error.exit_code
    except Exception as error:
        where = debug_log.log_traceback(run.path, error)
        expected_error = expected(run, error)
        if expected_error is None:
            reason = f"{type(error).__name__}: {error}{where}"
            safe_text.say(f"internal error: {reason}")
            return "failed", reason, 1
        safe_text.say(str(expected_error))
        return "failed", str(expected_error), expected_error.exit_code
    return "done", None, 0


def expected(run: RunFolder, error: Exception) -> HarnessError | None:
    """Return the HarnessError for a library's exception that the machine or the run's folder has
    caused; None for a bug.
    """
    device_error = device_errors.explain(str(run.path), error)
    if device_error is not None:
        return device_error
    if isinstance(error, NO_CHECKPOINT) or type(error).__name__ == "SafetensorError":
        text = safe_text.escape_one_line(f"{type(error).__name__}: {error}")[:200]
        rule = "a checkpoint must hold what this program saved"
        return DataError(
            f"{run.checkpoints}: {rule}, but does not, although it matches its manifest: {text}"
        )
    return None


def _train(session: Session) -> None:
    if session.config.policy.kind == "tabular":
        from harness.train.loop import tabular

        gc.freeze()  # imported modules stay to the end and need no collection
        gc.set_threshold(UNCOLLECTED)
        tabular.train(session)
    else:
        from harness.policy import model_files
        from harness.train.engines import vllm_address

        policy = session.config.policy
        vllm_address.check(session.config)
        if policy.kind == "hf":
            model_files.ensure(policy)  # before the libraries are set to stay offline
        from harness.train.loop import language

        language.train(session)


def _stop_before_start(number: int, _frame: FrameType | None) -> None:
    """Raise StoppedError, since before the session opens there is nothing to finish or save."""
    raise StoppedError(f"stopped by {signal.Signals(number).name} before the first step")


def _both(first: Emit, second: Emit) -> Emit:
    def emit(event: Mapping[str, Any]) -> None:
        first(event)
        second(event)

    return emit


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness.train", description=__doc__)
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--events", choices=["jsonl"])
    parser.add_argument("--die-with-parent", type=int, metavar="PID")
    parser.add_argument("--stop-again", action="store_true")
    parser.add_argument("--ranks", type=int, metavar="N")
    parser.add_argument("--send", action="append", default=[], metavar="HOST=VARIABLE")
    parser.add_argument("--lock", type=int, metavar="FD", help="open, and holding the folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
