"""A run that ends before its work does: asked to stop, out of time, or hung.

Whatever the process waits for, a disk, a device or whoever reads what it says, it is gone soon
after it was told to leave, and what is on disk can be resumed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

from harness.config.run import TrainerConfig
from harness.errors import EXIT_INTERRUPTED_TWICE, StoppedError
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.loop.progress_lines import Emit, say
from harness.utils import bounded_write

LAST_WAIT_S = 8.0
"""What there is to say so, in run.json, to trackers and to who reads, before the end."""


class Leaving:
    """The signals of one attempt, and the end that they or a deadline bring."""

    def __init__(
        self,
        run: RunFolder,
        trainer: TrainerConfig,
        rows: Callable[[], Mapping[str, Any]],
        emit: Emit,
    ) -> None:
        """`rows`: what run.json says of the rows on disk."""
        self._run, self._trainer, self._rows, self._emit = run, trainer, rows, emit
        self.asked_by: int | None = None
        """The signal that asked for a stop; None so far."""

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """First: stop at the end of the step. Second SIGINT: end at once."""
        if self.asked_by is None:
            self.asked_by = number
            signal.setitimer(signal.ITIMER_REAL, self._trainer.grace_s)
            say("harness: stopping at the end of this step; interrupt again to end now\n", 0.0)
        elif number == signal.SIGINT:
            self._leave(EXIT_INTERRUPTED_TWICE, "interrupted twice")

    def on_grace_over(self, _number: int, _frame: FrameType | None) -> None:
        """The step took too long: leave without a checkpoint. What is on disk is resumable."""
        self.now(f"{self._trainer.grace_s:g} s after a stop request (trainer.grace_s)")

    def on_deadline(self) -> None:
        self.now(f"after {self._trainer.deadline_s:g} s in it (trainer.deadline_s)")

    def now(self, why: str) -> None:
        """End, to be resumed; also for a thread that looks on."""
        self._leave(StoppedError.exit_code, why)

    def _leave(self, exit_code: int, why: str) -> None:
        """End the process here and now, saying so in run.json and in the events."""
        bounded_write.exit_within(LAST_WAIT_S, exit_code)
        rows = self._rows()
        reason = f"ended within step {rows['last_step'] + 1}, {why}"
        ended = {"status": "stopped", "exit_code": exit_code}
        try:
            found = run_folder.read_status(self._run)
            if found.status in run_folder.ENDED:  # only its last words were still to be taken
                exit_code = exit_code if found.exit_code is None else found.exit_code
                return
            now = replace(found, status="stopped", exit_code=exit_code, reason=reason)
            run_folder.write_status(self._run, replace(now, **rows))
            self._emit({"event": "end", **ended})
            say(f"harness: {self._run.path}: {reason}\n")
        finally:
            os._exit(exit_code)


class Deadline:
    """Calls `over`, in a thread of its own, where a step takes longer than `seconds`."""

    def __init__(self, seconds: float | None, over: Callable[[], None]) -> None:
        self._seconds, self._over = seconds, over
        self._timer: threading.Timer | None = None

    def restart(self) -> None:
        """A step begins."""
        self.end()
        if self._seconds is not None:
            self._timer = threading.Timer(self._seconds, self._over)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """No step is under way."""
        if self._timer is not None:
            self._timer.cancel()
