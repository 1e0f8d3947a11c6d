"""Looking at runs takes little of the core that they train on, however many they are."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from harness.cli import exit_codes
from harness.execution import ledger, progress, watching
from harness.execution.progress import RunWatcher
from harness.execution.progress_view import RunView
from tests.cli.made_lists import a_sweep

VIEW = RunView("run", 100)


class Watcher(RunWatcher):
    """A run whose reading takes so many seconds of CPU."""

    def __init__(self, cpu_s: float) -> None:
        self._cpu_s = cpu_s

    def read(self) -> RunView:
        until_s = time.thread_time() + self._cpu_s
        while time.thread_time() < until_s:
            pass
        return VIEW


def times_looked(cpu_s: float, for_s: float) -> int:
    stop = threading.Event()
    timer = threading.Timer(for_s, stop.set)
    timer.start()
    looks = sum(1 for _ in progress.snapshots([Watcher(cpu_s)], 0.01, stop))
    timer.join()
    return looks


def test_what_is_quick_to_read_is_looked_at_as_often_as_asked() -> None:
    assert times_looked(0.0, 0.5) > 10


def test_what_takes_long_to_read_is_looked_at_less_often_and_once_at_the_end() -> None:
    assert times_looked(0.05, 0.5) == 2  # the second since `stop` is set: 2.5 s were to pass


def test_the_share_is_of_a_core() -> None:
    assert progress.pause_s(0.001, every_s=1.0) == 1.0
    assert progress.pause_s(0.1, every_s=1.0) == pytest.approx(5.0)


def test_the_ledger_of_many_runs_takes_a_small_share_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read every second: 300 unfinished runs took an eighth of a core."""
    monkeypatch.setattr(watching, "LOOK_EVERY_S", 0.005)
    root = a_sweep(tmp_path, *map(str, range(40)))
    for name in range(40):
        (root / str(name) / "run.json").unlink()  # so that none is done
    stop, took_s = threading.Event(), list[float]()

    def keep() -> None:
        began_s = time.thread_time()
        watching.keep_ledger(ledger.read(root), stop)
        took_s.append(time.thread_time() - began_s)

    keeper = threading.Thread(target=keep)
    keeper.start()
    assert not stop.wait(2.0)
    stop.set()
    keeper.join()
    assert took_s[0] < 0.5, "of 2 s"


def outcome_of_an_interrupt(place: int) -> type[BaseException] | None:
    """Look at a run until a KeyboardInterrupt is raised before the `place`-th line that Python
    runs, in our code or a library's; return what comes of it, None if there is no such line.
    """
    lines, stop = 0, threading.Event()

    def trace(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if event == "line" and lines == place:
            raise KeyboardInterrupt
        return trace

    looks = progress.snapshots([Watcher(0.0)], 0.001, stop)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        next(looks)
        stop.set()
        list(looks)
    except BaseException as error:
        return type(error)
    finally:
        sys.settrace(before)
    return None


def test_ctrl_c_at_any_line_is_ctrl_c() -> None:
    for place in range(1, 1000):
        outcome = outcome_of_an_interrupt(place)
        if outcome is None:
            break
        assert outcome is KeyboardInterrupt, place
    assert 20 < place < 1000


def test_an_event_that_makes_an_error_of_ctrl_c_is_ctrl_c_to_a_command() -> None:
    error = RuntimeError("release unlocked lock")
    assert exit_codes.explain(error, traceback=False) == 1
    error.__context__ = KeyboardInterrupt()
    assert exit_codes.explain(error, traceback=False) == 130
