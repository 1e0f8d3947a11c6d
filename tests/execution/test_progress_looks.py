"""Looking at runs takes little of the core that they train on, however many they are."""

from __future__ import annotations

import threading
import time

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
