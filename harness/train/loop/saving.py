"""Checkpoints written in a thread, from a copy, while training goes on.

Only files are the thread's business. What else a saved checkpoint entails, its event and run.json,
is done by the training's own thread when it asks next, as it does between tokens.
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
from harness.records.provenance import Identity

Fill = Callable[[Path], None]
"""Writes a checkpoint's files into a folder."""


@dataclass(frozen=True)
class Unsaved:
    """The end of a step that has no checkpoint on disk yet."""

    step: int
    fill: Fill
    """Writes what is in memory: right until the next update changes the weights."""
    copy: Callable[[], Fill] | None = None
    """Takes a copy and returns what writes it, whatever the weights become; None for a policy
    whose `fill` does so itself."""

    def kept(self) -> Unsaved:
        """The same, in a copy that the next update does not change."""
        return self if self.copy is None else Unsaved(self.step, self.copy())


@dataclass
class _Writing:
    """A checkpoint that a thread writes."""

    step: int
    thread: threading.Thread | None = None
    seconds: float = 0.0
    error: BaseException | None = None
    over: threading.Event = field(default_factory=threading.Event)


class Saver:
    """The checkpoints of one attempt at a run: saved one at a time, at once or in a thread."""

    def __init__(
        self,
        root: Path,
        trainer: TrainerConfig,
        own: Callable[[], Identity],
        sums: Callable[[int], RowSums | None],
        saved: Callable[[int, float], None],
    ) -> None:
        """`own`: whose checkpoints they are; `sums`: of the rows up to a step; `saved` is called in
        the training's own thread, with the step and the seconds that its checkpoint took, once that
        is on disk.
        """
        self._root, self._trainer = root, trainer
        self._own, self._sums, self._saved = own, sums, saved
        self._unsaved: Unsaved | None = None
        self._writing: _Writing | None = None

    def take(self, end: Unsaved, ends_run: bool) -> None:
        """Take in the end of a step: save it at once if it `ends_run`, in a thread if a checkpoint
        is due, else keep it until the next. Raises what the last checkpoint's thread raised.
        """
        self.collect()
        self._unsaved = end
        every = (self._trainer.checkpoint_every, self._trainer.keep_every)
        if ends_run:
            self.save()
        elif any(n and end.step % n == 0 for n in every):
            if end.copy is None:
                self.save()
            else:
                self._later(end)

    def save(self) -> None:
        """Have the last step's end on disk when this returns."""
        self.wait()
        if self._unsaved is not None:
            began = time.monotonic()
            end = self._unsaved
            self._publish(end, self._own(), self._sums(end.step))
            self._unsaved = None
            self._saved(end.step, time.monotonic() - began)

    def keep(self) -> None:
        """Copy the last step's end, if it is not saved: the weights change before the next."""
        if self._unsaved is not None:
            self._unsaved = self._unsaved.kept()

    def collect(self) -> None:
        """Tell of a checkpoint that is on disk by now. Raises what its thread raised."""
        if self._writing is not None and self._writing.over.is_set():
            self.wait()

    def wait(self) -> None:
        """Wait for the checkpoint that is being written. Raises what its thread raised."""
        writing, self._writing = self._writing, None
        if writing is None or writing.thread is None:
            return
        writing.thread.join()
        if writing.error is not None:
            raise writing.error
        self._saved(writing.step, writing.seconds)

    def _later(self, end: Unsaved) -> None:
        """Copy what is to be saved, and begin to write it."""
        self.wait()
        kept, own, sums = end.kept(), self._own(), self._sums(end.step)
        self._unsaved = None
        writing = self._writing = _Writing(kept.step)

        def write() -> None:
            began = time.monotonic()
            try:
                self._publish(kept, own, sums)
            except BaseException as error:  # raised again by `wait`, with this thread's traceback
                writing.error = error
            writing.seconds = time.monotonic() - began
            writing.over.set()

        writing.thread = threading.Thread(target=write, name="checkpoint", daemon=True)
        writing.thread.start()

    def _publish(self, end: Unsaved, own: Identity, rows: RowSums | None) -> None:
        checkpoints.publish(self._root, end.step, end.fill, own, rows, self._trainer.keep_every)
