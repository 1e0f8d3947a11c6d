"""Looking at runs takes little of the core that they train on, however many they are."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from harness.cli import exit_codes
from harness.execution import progress
from harness.execution.progress import RunWatcher
from harness.execution.progress_view import RunView

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
