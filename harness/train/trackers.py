"""Experiment trackers (trainer.report_to), through accelerate's tracker classes.

A tracker never stops a run. Each works in its own thread, is disabled after its first error, which
is printed, and is abandoned if it hangs. A tracker may lack rows; metrics.jsonl has all of them.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.errors import ConfigError, DataError
from harness.records import atomic, config_file, debug_log, metric_rows, sweep_file
from harness.records.run_folder import RunFolder
from harness.utils import safe_text

PROJECT = "harness"
LAST_WAIT_S = 30.0
OTHERS_RUN = ("WANDB_RUN_ID", "MLFLOW_RUN_ID")
"""Variables that would put a whole sweep into one run."""
OWN_ID: Mapping[str, Callable[[Any], str]] = {
    "wandb": lambda run: str(run.id),
    "mlflow": lambda run: str(run.info.run_id),
    "trackio": lambda run: str(run.name),
    "tensorboard": lambda writer: "tensorboard",
}
"""By tracker, a function that returns its id of a run, which is saved to continue on a resume."""
WANDBS_SETTINGS = ("wandb/settings", ".wandb/settings")
"""Files in the current folder that override wandb's variables, including its address and proxy."""
SENDS_NOTHING = ("offline", "dryrun", "disabled")
Row = tuple[int, dict[str, float]]
Rows = queue.SimpleQueue[Row | None]
Listener = tuple[str, threading.Thread, Rows]
"""A tracker's name, its thread, and the queue of its rows, ended by None."""


@contextlib.contextmanager
def reporting(run: RunFolder, config: RunConfig) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield a function that takes the run's events and sends its rows to the trackers."""
    listeners: list[Listener] = []

    def tell(event: Mapping[str, Any]) -> None:
        if event["event"] != "step" or not config.trainer.report_to:
            return
        if not listeners:
            listeners.extend(_begin(run, config))
        for _, _, rows in listeners:
            rows.put((event["step"], _present_values(event["values"])))

    try:
        yield tell
    finally:
        _end(listeners)


def refuse_settings_here(names: Collection[str]) -> None:
    """Raise ConfigError if settings in the current folder could redirect wandb and its API key."""
    mode = os.environ.get("WANDB_MODE", "offline")
    paths = [name for name in WANDBS_SETTINGS if os.path.lexists(name)]
    if "wandb" in names and paths and mode not in SENDS_NOTHING:
        raise ConfigError(
            f"{paths[0]}: with WANDB_MODE={mode} the current folder must not hold settings of "
            "wandb's, which say where its key goes; keep them in ~/.config/wandb/settings"
        )


def _begin(run: RunFolder, config: RunConfig) -> Iterator[Listener]:
    """Start the trackers' threads, after the run's imports, since concurrent imports can fail."""
    for name in OTHERS_RUN:
        os.environ.pop(name, None)
    os.environ.setdefault("WANDB_MODE", "offline")
    sys.stdout = sys.stderr  # trackers print, but stdout is only for events
    with contextlib.suppress(Exception):  # each tracker reports its own import error
        from accelerate import PartialState

        PartialState(cpu=True)  # required by accelerate's logger
    for name in config.trainer.report_to:
        rows: Rows = queue.SimpleQueue()
        thread = threading.Thread(target=_track, args=(name, run, config, rows), daemon=True)
        thread.start()
        yield name, thread, rows


def _end(listeners: Sequence[Listener]) -> None:
    deadline = time.monotonic() + LAST_WAIT_S
    for _, _, rows in listeners:
        rows.put(None)
    for name, thread, _ in listeners:
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            _warn(name, f"has not taken every row {LAST_WAIT_S:g} s after the last one")


def _track(name: str, run: RunFolder, config: RunConfig, rows: Rows) -> None:
    """Send a tracker the rows that it does not have yet: first those on disk, then new ones."""
    state_path = run.trackers / f"{name}.json"
    try:
        first = rows.get()
        assert first is not None
        state: dict[str, Any] = {"id": None, "step": 0}
        if state_path.is_file():
            state = json.loads(state_path.read_text())
        # the last row may have been lost in the tracker's buffer, so a recomputed row is sent again
        last = min(state["step"], first[0] - 1)
        tracker = _start_tracker(name, run, config, state["id"], last)
        own_id = OWN_ID[name](tracker.tracker)
        on_disk = _rows_between(run, last, first[0])
        for step, values in itertools.chain(on_disk, [first], iter(rows.get, None)):
            tracker.log(values, step)
            _save_state(state_path, {"id": own_id, "step": step})
        tracker.finish()
    except (Exception, SystemExit) as error:
        text = safe_text.escape_one_line(f"{type(error).__name__}: {error}")[:200]
        where = debug_log.log_traceback(run.path, error)
        _warn(name, f"failed and is disabled; the run continues ({text}){where}")


def _save_state(path: Path, state: Mapping[str, Any]) -> None:
    atomic.write_text(path, json.dumps(state), durable=False)


def _rows_between(run: RunFolder, last: int, first: int) -> Iterator[Row]:
    with run.metrics.open(encoding="utf-8") as lines:
        for line in itertools.islice(lines, last, first - 1):
            row = json.loads(line)
            row.pop(metric_rows.KEY, None)
            yield row.pop("step"), _present_values(row)


def _present_values(values: Mapping[str, float | None]) -> dict[str, float]:
    return {key: value for key, value in values.items() if value is not None}


def _start_tracker(
    name: str, run: RunFolder, config: RunConfig, own_id: str | None, last: int
) -> Any:
    """Return the tracker `name`, started with the run's name, group and config.

    On a resume it continues its run `own_id` after row `last`.
    """
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    refuse_settings_here([name])
    kind = LOGGER_TYPE_TO_CLASS[name]
    run.trackers.mkdir(exist_ok=True)
    values = {**dict(_flat(config_file.to_dict(config))), "group": group(run, config)}
    title = f"{run.path.parent.name}/{run.path.name}"
    tracker = {
        "wandb": lambda: kind(
            _project(name), name=title, group=values["group"], config=values, id=own_id,
            resume="allow", dir=os.environ.get("WANDB_DIR", str(run.trackers)),
        ),
        "trackio": lambda: kind(
            _project(name), name=own_id or title, group=values["group"], config=values,
            resume="allow" if own_id else "never",
        ),
        "mlflow": lambda: kind(
            _project(name), run_name=title, run_id=own_id, tags={"group": values["group"]}
        ),
        "tensorboard": lambda: kind(
            "tensorboard", logging_dir=run.trackers, purge_step=last + 1 if own_id else None
        ),
    }[name]()  # fmt: skip
    tracker.start()
    if own_id is None and name in ("mlflow", "tensorboard"):  # the others got it above
        tracker.store_init_configuration(values)
    return tracker


def group(run: RunFolder, config: RunConfig) -> str:
    """Return the run's overrides of its sweep's axes, without the seed; its level if none."""
    try:
        sweep = sweep_file.read(run.path.parent)
    except DataError:
        return config.difficulty.name
    overrides = [word for row in sweep.runs if row.name == run.path.name for word in row.overrides]
    axes = sweep.axes.keys() - {"seed"}
    return (
        " ".join(word for word in overrides if word.partition("=")[0] in axes)
        or config.difficulty.name
    )


def _project(name: str) -> str:
    return os.environ.get(f"{name.upper()}_PROJECT", PROJECT)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values by dotted key, without nulls; lists as JSON."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key, json.dumps(value) if isinstance(value, list) else value


def _warn(name: str, problem: str) -> None:
    safe_text.say(f"trainer.report_to: {name} {problem}")
