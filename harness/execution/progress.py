"""Progress of a sweep: one line a run, read from the run folders that other processes write."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.errors import DataError
from harness.records import plain_file, run_folder
from harness.records.run_folder import RunFolder, RunStatus
from harness.utils.safe_text import shortened, text

LIVE_EVERY_S, PLAIN_EVERY_S = 0.5, 1.0
MOST_BYTES = 2**20
"""Most bytes of metrics.jsonl read at once: only the last row is shown."""
PACE_WINDOW_S = 120.0
"""Time left is judged by the steps of this last while."""
SHARE_A_LINE = 0.1
"""Share of a run after which it gets another plain line."""
ENDED = ("done", "failed", "stopped")
STYLES = {"running": "cyan", "done": "green", "failed": "red", "stopped": "yellow"}
SHOWN_FIRST = ("running", "failed", "stopped", "planned", "done")
COLUMNS = ("run", "status", "step", "H", "R", "emotion", "left")
MARGIN_LINES = 4
"""Lines of the screen kept free below and above the table."""


@dataclass(frozen=True)
class RunView:
    """Progress of a run, as far as its folder says."""

    name: str
    steps: int
    """Steps it is to make."""
    status: str = "planned"
    reason: str | None = None
    attempt: int = 0
    step: int = 0
    entropy: float | None = None
    reward: float | None = None
    emotion: float | None = None
    left_s: float | None = None
    """Seconds left at the pace of the last while."""


def watch(
    run_dirs: Sequence[Path],
    names: Sequence[str],
    total_steps: Sequence[int],
    console: Console,
    stop: threading.Event,
) -> None:
    """Show the runs until `stop` is set: live on a terminal, else a line at start, tenths and end.

    Returns after one last look, so that a run that ended just before `stop` is shown as ended.
    """
    watchers = [
        RunWatcher(Path(path), name, steps)
        for path, name, steps in zip(run_dirs, names, total_steps, strict=True)
    ]
    if console.is_terminal:
        _live(watchers, console, stop)
    else:
        _plain(watchers, console, stop)


class RunWatcher:
    """Reads one run's folder; each time only the new part of metrics.jsonl."""

    def __init__(
        self, path: Path, name: str, steps: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run, self._name, self._steps, self._clock = RunFolder(path), name, steps, clock
        self._read_bytes = 0
        self._row: dict[str, Any] = {}
        self._pace: deque[tuple[float, int]] = deque()
        self._done: RunView | None = None

    def read(self) -> RunView:
        """The run now. A folder that is missing or half made is a planned run."""
        view = self._done or self._view()
        over = view.status == "done" and view.step >= view.steps
        self._done = view if over else None  # nothing follows that
        return view

    def _view(self) -> RunView:
        status = self._status()
        self._read_new_rows()
        step = int(_number(self._row, "step") or 0)
        return RunView(
            self._name,
            self._steps,
            status.status,
            status.reason,
            status.attempts,
            step,
            _number(self._row, "entropy"),
            _number(self._row, "reward"),
            _number(self._row, "emotion/final"),
            self._left_s(step) if status.status == "running" else None,
        )

    def _status(self) -> RunStatus:
        try:
            return run_folder.read_status(self._run)
        except DataError:
            return RunStatus()

    def _read_new_rows(self) -> None:
        """Keep the last whole row; a line still being written waits for the next look."""
        try:
            with open(self._run.metrics, "rb", opener=plain_file.opener) as file:
                if file.seek(0, os.SEEK_END) < self._read_bytes:
                    self._read_bytes = 0  # begun anew
                self._read_bytes = max(self._read_bytes, file.tell() - MOST_BYTES)
                file.seek(self._read_bytes)
                new = file.read(MOST_BYTES)
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in whole.splitlines()[-1:]:
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


def _number(row: dict[str, Any], key: str) -> float | None:
    value = row.get(key)
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _live(watchers: Sequence[RunWatcher], console: Console, stop: threading.Event) -> None:
    """Show a live table; stdout is left alone, since the caller may print JSON there."""
    with Live(console=console, auto_refresh=False, redirect_stdout=False) as live:
        ended = False
        while not ended:
            ended = stop.wait(LIVE_EVERY_S)
            views = [watcher.read() for watcher in watchers]
            live.update(table(views, console.height - MARGIN_LINES), refresh=True)


def table(views: Sequence[RunView], most: int) -> Group:
    """Table of at most `most` runs, running ones first; the others are counted below it."""
    order = sorted(range(len(views)), key=lambda i: _rank(views[i]))
    shown = sorted(order[: max(most, 1)])
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in COLUMNS:
        grid.add_column(text(column, "bold"), no_wrap=True, overflow="ellipsis")
    for index in shown:
        grid.add_row(*_cells(views[index]))
    hidden = Counter(views[index].status for index in order[len(shown) :])
    counts = ", ".join(f"{count} {status}" for status, count in hidden.items())
    return Group(grid, *([text(f"and {counts}", "dim")] if counts else []))


def _rank(view: RunView) -> int:
    return SHOWN_FIRST.index(view.status) if view.status in SHOWN_FIRST else len(SHOWN_FIRST)


def _cells(view: RunView) -> list[Text]:
    numbers = [_decimal(view.entropy), _decimal(view.reward), _decimal(view.emotion, 0)]
    held_up = view.status in ENDED or view.reason is not None
    last = shortened(view.reason or "", 60) if held_up else _duration(view.left_s)
    style = STYLES.get(view.status, "dim")
    return [
        text(shortened(view.name, 40)),
        text(view.status, style),
        text(f"{view.step}/{view.steps}"),
        *(text(number) for number in numbers),
        text(last, style if view.status in ENDED else ""),
    ]


def _plain(watchers: Sequence[RunWatcher], console: Console, stop: threading.Event) -> None:
    printed = [watcher.read() for watcher in watchers]
    for view in printed:
        if view.status == "running":
            console.print(text(line(view)), soft_wrap=True)
    ended = False
    while not ended:
        ended = stop.wait(PLAIN_EVERY_S)
        for index, watcher in enumerate(watchers):
            view = watcher.read()
            if worth_a_line(printed[index], view):
                console.print(text(line(view)), soft_wrap=True)
                printed[index] = view


def worth_a_line(printed: RunView, now: RunView) -> bool:
    """Whether the run started, ended, waits for an endpoint or no longer does, or made another
    tenth of its steps since `printed`, its last line.
    """
    if (printed.status, printed.attempt, printed.reason) != (now.status, now.attempt, now.reason):
        return now.status != "planned"
    size = max(1.0, now.steps * SHARE_A_LINE)
    return now.status == "running" and now.step // size > printed.step // size


def line(view: RunView) -> str:
    """`0-easy-seed1: running, 20/100 steps, H 1.04, R 0.45, emotion 47, 2 min left`."""
    parts = [view.status, f"{view.step}/{view.steps} steps"]
    measured = (("H", view.entropy, 2), ("R", view.reward, 2), ("emotion", view.emotion, 0))
    parts += [f"{word} {_decimal(v, digits)}" for word, v, digits in measured if v is not None]
    if view.left_s is not None:
        parts.append(f"{_duration(view.left_s)} left")
    if view.reason:
        parts.append(view.reason)
    return f"{view.name}: {', '.join(parts)}"


def _decimal(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
