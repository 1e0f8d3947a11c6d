"""The watch command: follows logs until they end, on a terminal or as JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live

from harness.cli import exit_codes, options, watch_view
from harness.cli.watched_log import FollowedLog, FollowOptions, LogState
from harness.errors import DataError
from harness.law.io import discover
from harness.law.io.columns import ColumnOptions
from harness.records import holder, sweep_file
from harness.records.run_folder import RunFolder
from harness.utils import terminal

EVERY_S, FIND_EVERY_S = 1.0, 10.0


@dataclass(frozen=True)
class WatchOptions:
    """Arguments of the command."""

    paths: tuple[Path, ...]
    following: FollowOptions
    once: bool = False
    as_json: bool = False
    as_events: bool = False


def watch_words(
    paths: tuple[Path, ...],
    column_names: tuple[str | None, str | None, str | None],
    steps: int | None,
    reward_range: str | None,
    idle_s: float,
    *,
    once: bool,
    as_json: bool,
    as_events: bool,
) -> None:
    """`watch` with the words of the command line; `column_names`: of reward, entropy and step."""
    reward, entropy, step = column_names
    choice = ColumnOptions(
        reward, entropy, step=step, reward_range=options.reward_range(reward_range)
    )
    following = FollowOptions(choice, steps, idle_s)
    watch(WatchOptions(paths, following, once, as_json, as_events))


class _Logs:
    """All logs at or below the paths; runs that a sweep begins later are found too."""

    def __init__(self, opts: WatchOptions) -> None:
        self._opts = opts
        self._logs: dict[str, FollowedLog] = {}
        self._next_s = 0.0
        self._awaited = False

    def read_states(self) -> list[LogState]:
        """Return the current state of every log. Raises DataError if there is none to wait for."""
        now = time.monotonic()
        if now >= self._next_s:
            began = time.process_time()
            for discovered in discover.discover(self._opts.paths).runs:
                if discovered.problem is not None and discovered.folder is None:
                    raise DataError(discovered.problem.message)
                if discovered.run not in self._logs and (
                    discovered.metrics or self._is_run(discovered)
                ):
                    self._logs[discovered.run] = FollowedLog(discovered, self._opts.following)
            self._next_s = now + FIND_EVERY_S + 100 * (time.process_time() - began)
        if not self._logs and not self.is_to_come():
            where = ", ".join(map(str, self._opts.paths))
            raise DataError(f"{where}: needs a run or a log at or below it, found none")
        return [log.read_state() for log in self._logs.values()]

    @staticmethod
    def _is_run(discovered: discover.DiscoveredRun) -> bool:
        return discovered.folder is not None and RunFolder(discovered.folder).is_run()

    def is_to_come(self) -> bool:
        """Return whether a live process may still begin runs here."""
        candidates = [
            candidate for path in self._opts.paths for candidate in (path, *_folders(path))
        ]
        roots = [candidate for candidate in candidates if (candidate / sweep_file.FILE).is_file()]
        return any(holder.holder(RunFolder(root)) is not None for root in roots)

    def may_bring_more(self) -> bool:
        """Return whether runs may begin, or may have begun since they were last read."""
        if self.is_to_come():
            self._awaited = True
            return True
        was_awaited, self._awaited = self._awaited, False
        self._next_s = 0.0 if was_awaited else self._next_s
        return was_awaited


def _folders(path: Path) -> list[Path]:
    """Return the folders directly in `path`, or none if it cannot be listed."""
    try:
        return [Path(entry.path) for entry in os.scandir(path) if entry.is_dir()]
    except OSError:
        return []


def watch(opts: WatchOptions) -> None:
    """Follow the logs until all have ended. Ctrl-C ends this without an error.

    Raises DataError if there is no log.
    """
    logs = _Logs(opts)
    views = logs.read_states()
    with exit_codes.tolerate_closed_stdout():
        if opts.once or opts.as_json:
            _print_once(views, opts)
            return
        try:
            _follow(logs, views, opts)
        except KeyboardInterrupt:
            return


def _print_once(views: Sequence[LogState], opts: WatchOptions) -> None:
    if opts.as_json:
        print(json.dumps(watch_view.as_json(views), indent=1, allow_nan=False))
    else:
        for view in views:
            print(terminal.wrap(watch_view.line(view), terminal.width(sys.stdout), "  "))


def _follow(logs: _Logs, views: list[LogState], opts: WatchOptions) -> None:
    console = Console()
    if console.is_terminal and not opts.as_events:
        with Live(console=console, auto_refresh=False) as live:
            live.update(watch_view.table(views, *console.size[::-1]), refresh=True)
            while not _is_over(logs, views):
                time.sleep(EVERY_S)
                views = logs.read_states()
                live.update(watch_view.table(views, *console.size[::-1]), refresh=True)
        return
    printed: dict[str, LogState] = {}
    while True:
        for view in views:
            if _is_news(printed.get(view.run), view):
                printed[view.run] = view
                event = json.dumps(watch_view.event(view), allow_nan=False)
                print(event if opts.as_events else watch_view.line(view), flush=True)
        if _is_over(logs, views):
            return
        time.sleep(EVERY_S)
        views = logs.read_states()


def _is_over(logs: _Logs, views: Sequence[LogState]) -> bool:
    all_ended = all(view.ended or view.status == "planned" for view in views)
    return all_ended and not logs.may_bring_more()


def _is_news(printed: LogState | None, now: LogState) -> bool:
    """Return whether the log has a new evaluation, status or advice."""
    if printed is None:
        return True
    old_advice, new_advice = printed.advice, now.advice
    has_moved = (old_advice and (old_advice.step, old_advice.word)) != (
        new_advice and (new_advice.step, new_advice.word)
    )
    return has_moved or (printed.status, printed.ended, printed.damaged) != (
        now.status,
        now.ended,
        now.damaged,
    )
