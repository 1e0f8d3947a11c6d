"""Checkpoints written from a copy, in a thread, while training goes on.

The thread only writes files. The checkpoint's event and the update of run.json are left to the
training thread, which calls `Saver.collect` between tokens.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.config.run import TrainerConfig
from harness.records import checkpoints
from harness.records.metric_rows import RowSums
from harness.records.provenance import RunIdentity

Fill = Callable[[Path], None]
"""Writes a checkpoint's files into a folder."""


@dataclass(frozen=True)
class UnsavedStep:
    """The end of a step that has no checkpoint on disk yet."""

    step: int
    fill: Fill
    """Writes the state in memory; valid until the next update changes the weights."""
    copy: Callable[[], Fill] | None = None
    """Takes a copy and returns a function that writes it, whatever happens to the weights; None for
    a policy whose `fill` holds an immutable state.
    """

    def copied(self) -> UnsavedStep:
        """Return the same as a copy, which later updates do not change."""
        return self if self.copy is None else UnsavedStep(self.step, self.copy())


@dataclass
class _Writing:
    """A checkpoint that a thread is writing."""

    step: int
    thread: threading.Thread | None = None
    seconds: float = 0.0
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)


class Saver:
    """Saves the checkpoints of one attempt, one at a time, either immediately or in a thread."""

    def __init__(
        self,
        root: Path,
        trainer: TrainerConfig,
        identity: Callable[[], RunIdentity],
        sums: Callable[[int], RowSums | None],
        on_saved: Callable[[int, float], None],
    ) -> None:
        """`identity`: returns that of the run; `sums`: returns the fingerprint of the rows up to a
        step; `on_saved`: called in the training thread once a checkpoint is on disk, with its step
        and the seconds it took.
        """
        self._root, self._trainer = root, trainer
        self._own, self._sums, self._saved = identity, sums, on_saved
        self._unsaved: UnsavedStep | None = None
        self._writing: _Writing | None = None

    def take(self, end: UnsavedStep, ends_run: bool) -> None:
        """Take the state at the end of a step. Save it now if it `ends_run`, in a thread if a
        checkpoint is due; otherwise hold it until the next step. Raises an error of the last
        checkpoint's thread.
        """
        self.collect()
        self._unsaved = end
        intervals = (self._trainer.checkpoint_every, self._trainer.keep_every)
        if ends_run:
            self.save()
        elif any(n and end.step % n == 0 for n in intervals):
            if end.copy is None:
                self.save()
            else:
                self._save_in_thread(end)

    def save(self) -> None:
        """Save the last step's state; it is on disk when this returns."""
        self.wait()
        if self._unsaved is not None:
            began = time.monotonic()
            end = self._unsaved
            self._publish(end, self._own(), self._sums(end.step))
            self._unsaved = None
            self._saved(end.step, time.monotonic() - began)

    def keep(self) -> None:
        """Copy the last step's state if it is not saved: an update will change the weights."""
        if self._unsaved is not None:
            self._unsaved = self._unsaved.copied()

    def collect(self) -> None:
        """Report a checkpoint that a thread has finished writing. Raises the thread's error."""
        if self._writing is not None and self._writing.over.is_set():
            self.wait()

    def wait(self) -> None:
        """Wait for the checkpoint that is being written. Raises the thread's error."""
        writing, self._writing = self._writing, None
        if writing is None or writing.thread is None:
            return
        writing.thread.join()
        if writing.error is not None:
            raise writing.error
        self._saved(writing.step, writing.seconds)

    def _save_in_thread(self, end: UnsavedStep) -> None:
        """Copy the state and write the copy in a thread."""
        self.wait()
        copied, own, sums = end.copied(), self._own(), self._sums(end.step)
        self._unsaved = None
        writing = self._writing = _Writing(copied.step)

        def write() -> None:
            began = time.monotonic()
            try:
                self._publish(copied, own, sums)
            except BaseException as error:  # raised again by `wait`, with this thread's traceback
                writing.error = error
            writing.seconds = time.monotonic() - began
            writing.over.set()

        writing.thread = threading.Thread(target=write, name="checkpoint", daemon=True)
        writing.thread.start()

    def _publish(self, end: UnsavedStep, own: RunIdentity, rows: RowSums | None) -> None:
        checkpoints.publish(self._root, end.step, end.fill, own, rows, self._trainer.keep_every)
