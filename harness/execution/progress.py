"""Shows the progress of a sweep, one line per run, from the run folders."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from harness.execution import progress_view
from harness.execution.progress_view import RunView
from harness.records import metric_rows, plain_file, run_state
from harness.records.run_folder import RunFolder
from harness.utils.safe_text import text

LIVE_EVERY_S, PLAIN_EVERY_S = 0.5, 1.0
LOOK_EVERY_S = 0.1
"""Seconds between two checks of whether to stop."""
MOST_BYTES = 2**20
"""Most bytes of metrics.jsonl read at once: only the last row is shown."""
MOST_SHARE = 0.02
"""Largest share of a core that polling may take: with many runs, polling becomes less frequent."""
PACE_WINDOW_S = 120.0
"""The remaining time is estimated from the steps within this window."""
MARGIN_LINES = 6
"""Lines of the screen kept free below and above the table."""


def watch(
    run_dirs: Sequence[Path],
    names: Sequence[str],
    total_steps: Sequence[int],
    console: Console,
    stop: threading.Event,
) -> None:
    """Show the runs until `stop` is set: as a live table on a terminal, else as a line per run at
    its start, at each tenth of its steps and at its end.

    Reads the runs a last time after `stop`, so that a run that has just ended is shown as ended.
    """
    watchers = [
        RunWatcher(Path(path), name, steps)
        for path, name, steps in zip(run_dirs, names, total_steps, strict=True)
    ]
    if console.is_terminal:
        _show_live(watchers, console, stop)
    else:
        _print_lines(watchers, console, stop)


class RunWatcher:
    """Reads one run's folder, each time only the new part of metrics.jsonl."""

    def __init__(
        self, path: Path, name: str, steps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._name, self._steps, self._clock = RunFolder(path), name, steps, clock
        self._read_bytes = 0
        self._row: dict[str, Any] = {}
        self._pace: deque[tuple[float, int]] = deque()
        self._done: RunView | None = None

    def read(self) -> RunView:
        """Return the run's current progress. A missing or incomplete folder is a planned run."""
        view = self._done or self._view()
        is_over = view.status == "done" and view.step >= view.steps
        self._done = view if is_over else None  # a completed run no longer changes
        return view

    def _view(self) -> RunView:
        state = run_state.of(self._run) if self._run.is_run() else run_state.RunState("planned")
        self._read_new_rows()
        step = int(metric_rows.number(self._row, "step") or 0)
        return RunView(
            self._name,
            self._steps,
            state.status,
            run_state.reason_alone(self._run.path, state.status, state.reason),
            state.attempts,
            step,
            metric_rows.number(self._row, "entropy"),
            metric_rows.number(self._row, "reward"),
            metric_rows.number(self._row, "emotion/final"),
            self._left_s(step) if state.status == "running" else None,
        )

    def _read_new_rows(self) -> None:
        """Read the last complete row; a line still being written is left for the next call."""
        try:
            with open(self._run.metrics, "rb", opener=plain_file.opener) as file:
                if file.seek(0, os.SEEK_END) < self._read_bytes:
                    self._read_bytes = 0  # the file was started again
                self._read_bytes = max(self._read_bytes, file.tell() - MOST_BYTES)
                file.seek(self._read_bytes)
                new = file.read(MOST_BYTES)
        except OSError:
            return
        complete = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        for line in complete.splitlines()[-1:]:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                return
            self._row = row if isinstance(row, dict) else self._row

    def _left_s(self, step: int) -> float | None:
        now = self._clock()
        self._pace.append((now, step))
        while now - self._pace[0][0] > PACE_WINDOW_S:
            self._pace.popleft()
        began, first = self._pace[0]
        if step <= first:
            return None
        return (now - began) / (step - first) * max(self._steps - step, 0)


def snapshots(
    watchers: Sequence[RunWatcher], every_s: float, stop: threading.Event
) -> Iterator[list[RunView]]:
    """Yield the progress of all runs every `every_s` seconds or, by MOST_SHARE, less often; the
    last time after `stop` is set.
    """
    wait_s, ended = every_s, False
    while not ended:
        ended = _wait(stop, wait_s)
        began_s = time.thread_time()
        yield [watcher.read() for watcher in watchers]
        wait_s = pause_s(time.thread_time() - began_s, every_s)


def pause_s(work_s: float, every_s: float) -> float:
    """Return the seconds to wait after polling for `work_s` CPU seconds: `every_s`, or more, so
    that polling takes at most MOST_SHARE of a core.
    """
    return max(every_s, work_s / MOST_SHARE)


def _wait(stop: threading.Event, wait_s: float) -> bool:
    """Wait `wait_s` seconds, or less if `stop` is set, and return whether it is.

    It sleeps: Ctrl-C within `stop.wait` can become a RuntimeError, as the event's lock is then
    released twice.
    """
    until_s = time.monotonic() + wait_s
    while not stop.is_set() and (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(LOOK_EVERY_S, left_s))
    return stop.is_set()


def _show_live(watchers: Sequence[RunWatcher], console: Console, stop: threading.Event) -> None:
    """Show a live table, without redirecting stdout, where the caller may print JSON."""
    with Live(console=console, auto_refresh=False, redirect_stdout=False) as live:
        at_once = 0
        for views in snapshots(watchers, LIVE_EVERY_S, stop):
            at_once = max(at_once, progress_view.running(views))
            row_limit = console.height - MARGIN_LINES
            live.update(progress_view.table(views, row_limit, console.width, at_once), refresh=True)


def _print_lines(watchers: Sequence[RunWatcher], console: Console, stop: threading.Event) -> None:
    printed = [watcher.read() for watcher in watchers]
    for view in printed:
        if view.status == "running":
            console.print(text(progress_view.line(view)), soft_wrap=True)
    at_once = 0
    for views in snapshots(watchers, PLAIN_EVERY_S, stop):
        at_once, finished = max(at_once, progress_view.running(views)), 0
        for index, view in enumerate(views):
            if progress_view.worth_a_line(printed[index], view):
                console.print(text(progress_view.line(view)), soft_wrap=True)
                finished += view.status in run_state.ENDED
                printed[index] = view
        if finished and any(view.status not in run_state.ENDED for view in views):
            console.print(text(progress_view.overall(views, at_once)), soft_wrap=True)
