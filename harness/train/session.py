"""One attempt at a run: where it starts, where its rows go, when it saves and when it stops.

The rungs differ in who owns the loop (tabular has its own, TRL has one), so the session is what
both loops call. Order within a step: row fsynced, then its conversations where they are due, then
the step event, then a checkpoint if due.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from harness.config import RunConfig
from harness.errors import (
    EXIT_INTERRUPTED_TWICE,
    DataError,
    DivergedError,
    HarnessError,
    StoppedError,
    StorageError,
)
from harness.process import STOP_SIGNALS
from harness.records import checkpoints, conversations, folder
from harness.records.conversations import TurnRecord
from harness.records.events import EventLog
from harness.records.folder import RunFolder, RunStatus
from harness.records.metrics import MetricsLog
from harness.train import found, provenance
from harness.train.deadline import Deadline
from harness.train.talk import Emit, say

if TYPE_CHECKING:
    from harness.train.served_users import ServedUsers


class Session:
    """Owns the run folder while the run trains; made by `opened`."""

    def __init__(self, run: RunFolder, config: RunConfig, emit: Emit) -> None:
        """Find where to start. Raises DataError if rows are damaged or the checkpoint another's."""
        self.run, self.config = run, config
        folder.refuse_links(run)
        cleared = checkpoints.clear(run.checkpoints)
        self._made = provenance.of_attempt(run, config, folder.read_status(run))
        self.checkpoint, problems = checkpoints.newest(run.checkpoints, self._made.own)
        self._emit = emit
        self._metrics = MetricsLog(run.metrics, needed=self.start)
        self._events = EventLog(run.events)
        self._stop_signal: int | None = None
        self._replayed = 0
        self._superseded = 0
        self._served = _served_users(run, config)
        self._deadline = Deadline(config.trainer.deadline_s, self._on_deadline)
        moved, unlike = self._metrics.moved_aside, self._made.notice(self.last_step)
        found.tell(self.note, cleared, problems, moved, unlike, self.checkpoint)
        if self.last_step < self.start:
            self._metrics.close()
            raise DataError(
                f"{run.metrics}: a run that continues from step {self.start} needs a row for each "
                f"step up to it, found {self.last_step}; without checkpoints/ it begins anew"
            )

    @property
    def start(self) -> int:
        """The step whose end the run continues from; 0 for a fresh one."""
        return self.checkpoint.step if self.checkpoint else 0

    @property
    def last_step(self) -> int:
        """Step of the last row on disk."""
        return self._metrics.last_step

    def reach_users(self) -> None:
        """Raises EndpointError if users are served and nobody answers for them."""
        if self._served is not None:
            self._served.reach()

    def start_from(self, start_model: str | None) -> None:
        """Say in run.json which start model was loaded, by its sum.

        Raises DataError if the run, or its checkpoint, began with another one.
        """
        self._made = self._made.with_start_model(start_model, self.checkpoint)
        self._write_status(start_model=start_model)

    def begin(self, measurement: Mapping[str, Any]) -> None:
        """Write the measurement card and say where the run starts."""
        status = self._write_status(measurement=measurement)
        if self._served is not None:
            self._served.at_step(self.start + 1, self.last_step)
        event = "resume" if status.attempts > 1 else "start"
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        code = asdict(self._made.own.made_by)
        self.note(event, step=self.start, rows=self.last_step, gpus=gpus, **code)
        self._emit({"event": event, "step": self.start})
        self._deadline.restart()

    def note(self, event: str, **values: Any) -> None:
        """Log to events.jsonl something that another run of the same config need not share."""
        self._events.append(event, **values)

    def record(
        self,
        step: int,
        values: Mapping[str, float | None],
        turns: Callable[[], Sequence[TurnRecord]] | None = None,
        **phases_s: float,
    ) -> None:
        """Make row `step` durable and acknowledge it; write its conversations where they are due.

        Raises DivergedError if the row was on disk already and differs, on a CPU.
        """
        new = self._append(step, values)
        self._replayed += not new
        every = self.config.trainer.conversations_every
        due = step in (1, self.config.trainer.steps) or step % every == 0
        if turns is not None and due:
            conversations.write(self.run.conversations, step, turns())
        seconds = {name: round(value, 4) for name, value in phases_s.items()}
        self.note("step", step=step, replayed=not new, seconds=seconds)
        if self._served is not None:
            self.note("simulator", step=step, **self._served.cost())
            self._served.count(new * (values["sim/failed"] or 0))
        self._emit({"event": "step", "step": step, "values": values})

    def finish_step(self, step: int, fill: Callable[[Path], None]) -> None:
        """Save a checkpoint with `fill` if one is due, and end the run if a stop was requested.

        Raises StoppedError after a stop request, with the checkpoint of `step` on disk, and
        EndpointError where the users have been out of reach for too long.
        """
        trainer = self.config.trainer
        stopping = self._stop_signal is not None and step < trainer.steps
        if stopping or step == trainer.steps or step % trainer.checkpoint_every == 0:
            began = time.monotonic()
            checkpoints.publish(self.run.checkpoints, step, fill, self._made.own)
            self._write_status(last_step=self.last_step)
            self.note("checkpoint", step=step, seconds=round(time.monotonic() - began, 4))
            self._emit({"event": "checkpoint", "step": step})
        if stopping:
            name = signal.Signals(self._stop_signal or 0).name
            raise StoppedError(
                f"{self.run.path}: stopped by {name} after step {step}; "
                f"continue with `harness resume {self.run.path}`"
            )
        if self._served is not None:
            self._served.judge(step)
            self._served.at_step(step + 1, self.last_step)
        self._deadline.restart()

    def close(self) -> None:
        """Leave the folder as the next attempt expects it."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._deadline.end()
        self._metrics.close()
        if self._served is not None:
            self._served.close()
        if self._replayed or self._superseded:
            compared = self._replayed + self._superseded
            self.note("replay_check", compared=compared, mismatched=self._superseded)
        self._write_status(last_step=self.last_step)

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """First: stop at the end of the step. Second SIGINT: end at once."""
        if self._stop_signal is None:
            self._stop_signal = number
            signal.setitimer(signal.ITIMER_REAL, self.config.trainer.grace_s)
            say("harness: stopping at the end of this step; interrupt again to end now\n")
        elif number == signal.SIGINT:
            self._leave(EXIT_INTERRUPTED_TWICE, "interrupted twice")

    def on_grace_over(self, _number: int, _frame: FrameType | None) -> None:
        """The step took too long: leave without a checkpoint. What is on disk is resumable."""
        grace_s = self.config.trainer.grace_s
        self._leave(StoppedError.exit_code, f"{grace_s:g} s after a stop request (trainer.grace_s)")

    def _on_deadline(self) -> None:
        deadline_s = self.config.trainer.deadline_s
        self._leave(StoppedError.exit_code, f"after {deadline_s:g} s in it (trainer.deadline_s)")

    def end_hung(self, why: str) -> None:
        """For a thread that looks on, where something takes too long: end now, to be resumed."""
        self._leave(StoppedError.exit_code, why)

    def _leave(self, exit_code: int, why: str) -> None:
        """End the process here and now, saying so in run.json and in the events."""
        reason = f"ended within step {self.last_step + 1}, {why}"
        ended = {"status": "stopped", "exit_code": exit_code}
        try:
            self._write_status(reason=reason, last_step=self.last_step, **ended)
            self._emit({"event": "end", **ended})
            say(f"harness: {self.run.path}: {reason}\n")
        finally:
            os._exit(exit_code)

    def _append(self, step: int, values: Mapping[str, float | None]) -> bool:
        """Whether row `step` is new. A GPU repeats itself only nearly; there the new row counts."""
        try:
            return self._metrics.append(step, values)
        except DivergedError as error:
            self._superseded += 1
            told = self._made.of_row(step, error, self.start)
            self.note("replay_mismatch", step=step, problem=str(told))
            if not self.config.trainer.gpus:
                raise told from error
            self._metrics.supersede(step)
            return self._metrics.append(step, values)

    def _write_status(self, **values: Any) -> RunStatus:
        """Set these in run.json. Raises StorageError, also where the folder has been removed."""
        try:
            status = folder.read_status(self.run)
        except DataError as error:
            raise StorageError(str(error)) from error
        now = replace(status, **values)
        folder.write_status(self.run, now)
        return now


def _served_users(run: RunFolder, config: RunConfig) -> ServedUsers | None:
    if config.simulator.kind != "served":
        return None
    from harness.train.served_users import ServedUsers

    return ServedUsers(run, config)


@contextlib.contextmanager
def opened(run: RunFolder, config: RunConfig, emit: Emit) -> Iterator[Session]:
    """A session with its signals installed; closed at the end, however it ends."""
    session = Session(run, config, emit)
    for number in STOP_SIGNALS:
        signal.signal(number, session.on_signal)
    signal.signal(signal.SIGALRM, session.on_grace_over)
    try:
        yield session
    except BaseException:
        with contextlib.suppress(HarnessError):  # what ended the run says more
            session.close()
        raise
    session.close()
