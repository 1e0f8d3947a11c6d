"""Ending a run early: after a signal, a deadline, or a hang.

The process ends soon after it was asked to, whatever it waits for (a disk, a device, a reader of
its output), and the run can be resumed from the files on disk.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType

from harness.config.run import TrainerConfig
from harness.errors import EXIT_INTERRUPTED_TWICE, HarnessError, StoppedError
from harness.records import checkpoints, run_status
from harness.train.loop.attempt_records import AttemptRows
from harness.train.loop.progress_lines import say
from harness.utils import safe_text

LAST_WAIT_S = 8.0
"""Maximum time to write run.json and notify trackers and readers before the process ends."""


class StopHandlers:
    """The signal and deadline handlers of one attempt."""

    def __init__(self, rows: AttemptRows, trainer: TrainerConfig) -> None:
        self._rows, self._trainer = rows, trainer
        self._run = rows.log.run
        self.asked_by: int | None = None
        """The signal that requested a stop; None if there was none."""
        self._preparing: str | None = None
        self.waits_for: Callable[[], str | None] = lambda: None
        """Returns the rank that this process waits for, which may take seconds to find."""

    @contextlib.contextmanager
    def at_once(self, preparing: str) -> Iterator[None]:
        """A context in which a stop request ends the process immediately, as there is no step to
        finish; an earlier request does so on entry. `preparing`: the reason's wording, as in `while
        X was built`.
        """
        self._preparing = preparing
        if self.asked_by is not None:
            self._stop(self.asked_by)
        try:
            yield
        finally:
            self._preparing = None

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Stop at the end of the step. A second signal, if SIGINT, ends the process immediately."""
        if self._preparing is not None:
            self._stop(number)
        elif self.asked_by is None:
            self.asked_by = number
            signal.setitimer(signal.ITIMER_REAL, self._trainer.grace_s)
            say("harness: stopping at the end of this step; interrupt again to end now\n", 0.0)
        elif number == signal.SIGINT:
            self._leave(EXIT_INTERRUPTED_TWICE, "interrupted twice")

    def on_grace_over(self, _number: int, _frame: FrameType | None) -> None:
        """End the process within a step that took too long after a stop request. Ignore alarms of
        other timers, which come without a stop request.
        """
        if self.asked_by is None:
            return
        self.now(f"{self._trainer.grace_s:g} s after a stop request (trainer.grace_s)")

    def stop_error(self, where: str) -> StoppedError:
        """Return the error that ends the run after a stop request, with a checkpoint on disk."""
        name, path = signal.Signals(self.asked_by or 0).name, self._run.path
        resume = f"`harness resume {shlex.quote(str(path))}`"
        return StoppedError(f"{path}: stopped by {name} {where}; continue with {resume}")

    def on_deadline(self) -> None:
        """End the process without a checkpoint, since the step took longer than its deadline."""
        self.on_hang(f"after {self._trainer.step_limit_s:g} s in it (trainer.deadline_s)")

    def on_hang(self, why: str) -> None:
        """End the process without a checkpoint, for the reason `why`; name the rank waited for."""
        rank = self.waits_for()
        self.now(f"{why}, waiting for {rank}" if rank else why)

    def on_error(self, error: Exception) -> None:
        """End the process with an error. For threads other than the main one, which is blocked in a
        library call and cannot raise it.
        """
        is_stop = isinstance(error, StoppedError)
        code = error.exit_code if isinstance(error, HarnessError) else 1
        self._leave(code, str(error), "", "stopped" if is_stop else "failed")

    def now(self, why: str) -> None:
        """End the process as stopped, so that it can be resumed. May be called from any thread."""
        self._leave(StoppedError.exit_code, why)

    def _stop(self, number: int) -> None:
        """End the process before the first step."""
        activity, self._preparing, self.asked_by = self._preparing, None, number
        name = signal.Signals(number).name
        resume = f"`harness resume {shlex.quote(str(self._run.path))}`"
        self._leave(
            StoppedError.exit_code, f"stopped by {name} {activity}; continue with {resume}", ""
        )

    def _leave(
        self,
        exit_code: int,
        why: str,
        within: str = "ended within step {step}, ",
        name: str = "stopped",
    ) -> None:
        """End the process immediately, with the reason in run.json and in the events."""
        safe_text.exit_within(LAST_WAIT_S, exit_code)
        rows = self._rows.for_status()
        reason = within.format(step=rows["last_step"] + 1) + why
        fields = {"status": name, "exit_code": exit_code}
        try:
            status = run_status.read(self._run.status)
            if status.status in run_status.ENDED:  # ended already, only reports were pending
                exit_code = exit_code if status.exit_code is None else status.exit_code
                return
            updated = replace(status, status=name, exit_code=exit_code, reason=reason)
            run_status.write(self._run.status, replace(updated, **rows))
            self._rows.log.emit({"event": "end", **fields})
            where = f"{self._run.path}: "
            saved = self._saved() if within else ""
            say(f"harness: {where}{reason.removeprefix(where)}{saved}\n")
        finally:
            os._exit(exit_code)

    def _saved(self) -> str:
        """Say from which step the run can continue, and by which command; empty if the disk does
        not say.
        """
        try:
            kept = checkpoints.all_in(self._run.checkpoints)
        except OSError:
            return ""
        last = f"step {checkpoints.step_of(kept[-1])}" if kept else "no checkpoint"
        resume = f"`harness resume {shlex.quote(str(self._run.path))}`"
        return f"; {last} is saved, continue with {resume}"


class Deadline:
    """Calls `over` in a separate thread if a step takes longer than `seconds`.

    A signal handler would not do, since a hang in a library may never return to Python.
    """

    def __init__(self, seconds: float | None, on_timeout: Callable[[], None]) -> None:
        self._seconds, self._on_timeout = seconds, on_timeout
        self._timer: threading.Timer | None = None
        self._has_begun = False

    def restart(self) -> None:
        """Start the clock for a step."""
        self.end()
        self._has_begun = True
        if self._seconds is not None:
            self._timer = threading.Timer(self._seconds, self._on_timeout)
            self._timer.daemon = True
            self._timer.start()

    def restart_step(self) -> None:
        """Restart the clock of the current step. Does nothing before the first step."""
        if self._has_begun:
            self.restart()

    def end(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
