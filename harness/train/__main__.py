"""The child process of one run: `python -m harness.train RUN_DIR [--events jsonl]`.

Everything that the run needs is in its folder; everything it says goes back there. The process
ends with the exit code that is also in run.json.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from harness import process
from harness.config import RunConfig
from harness.errors import DataError, DeviceError, EndpointError, HarnessError, StoppedError
from harness.records import folder
from harness.records.folder import RunFolder
from harness.train import session as sessions
from harness.train.session import Emit, Session
from harness.train.talk import talker


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.die_with_parent is not None:
        process.die_with(arguments.die_with_parent)
    for number in sessions.STOP_SIGNALS:
        signal.signal(number, _stop_before_start)
    run = RunFolder(arguments.run_dir)
    emit = _both(sessions.jsonl_emitter(arguments.events == "jsonl"), talker(sys.stderr))
    try:
        if not run.is_run():
            raise DataError(f"{run.path}: must be a run folder, found no {run.status.name} in it")
        with folder.hold(run):
            return attempt(run, emit)
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        return error.exit_code


def attempt(run: RunFolder, emit: Emit) -> int:
    """One attempt under the folder's lock: run.json says how it ended, and so does the result."""
    config = folder.read_own_config(run)
    status = folder.read_status(run)
    if status.status == "done":
        emit({"event": "resume", "step": status.last_step})
        emit({"event": "end", "status": "done", "exit_code": 0})
        return 0
    running = replace(status, status="running", attempts=status.attempts + 1)
    folder.write_status(run, replace(running, reason=None, exit_code=None))
    name, reason, code = _attempt(run, config, emit)
    ended = replace(folder.read_status(run), status=name, reason=reason, exit_code=code)
    folder.write_status(run, ended)
    emit({"event": "end", "status": name, "exit_code": code})
    return code


def _attempt(run: RunFolder, config: RunConfig, emit: Emit) -> tuple[str, str | None, int]:
    """Status, reason and exit code."""
    try:
        with sessions.opened(run, config, emit) as session:
            session.reach_users()
            _train(session)
    except (StoppedError, EndpointError) as error:
        print(f"harness: {error}", file=sys.stderr)
        return "stopped", str(error), error.exit_code
    except HarnessError as error:
        print(f"harness: {error}", file=sys.stderr)
        return "failed", str(error), error.exit_code
    except MemoryError:
        print(f"harness: {run.path}: out of memory", file=sys.stderr)
        return "failed", "out of memory", DeviceError.exit_code
    except Exception as error:
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}", 1
    return "done", None, 0


def _train(session: Session) -> None:
    if session.config.policy.kind == "tabular":
        from harness.train import tabular

        tabular.train(session)
    else:
        from harness.train import language

        language.train(session)


def _stop_before_start(number: int, _frame: FrameType | None) -> None:
    """Before the session is open there is no step to finish and nothing to save."""
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
    return parser


if __name__ == "__main__":
    sys.exit(main())
