"""One attempt at a run, step by step: its rows, evaluations, checkpoints, and when it stops.

Both training loops use a session: the tabular policy's own loop, and TRL's for language models.
Each step writes, in this order: the row, with fsync; its conversations, if due; its event; a
checkpoint, if due. `attempt_records.py` and `saving.py` write the run folder; `early_end.py` and
`stop_rule.py` end a run before its last step.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.config.run import RunConfig
from harness.errors import DataError, HarnessError, StoppedError
from harness.records import conversations, holder, run_status
from harness.records.conversations import TurnRecord
from harness.records.holder import LockKeeper
from harness.records.run_folder import RunFolder
from harness.train.loop import attempt_records
from harness.train.loop.attempt_records import AttemptLog, AttemptRows
from harness.train.loop.early_end import Deadline, StopHandlers
from harness.train.loop.evaluation_watch import EvaluationWatch
from harness.train.loop.progress_lines import Emit
from harness.train.loop.saving import Fill, Saver, UnsavedStep
from harness.train.loop.stop_rule import StopRule
from harness.train.metrics import evaluate
from harness.utils.process import STOP_SIGNALS

if TYPE_CHECKING:
    from harness.train.loop.served_users import ServedUsers


class Session:
    """One attempt at a run. Create it with `open_session`."""

    def __init__(self, run: RunFolder, config: RunConfig, emit: Emit, keeper: LockKeeper) -> None:
        """Find the step to start from. Raise DataError for bad rows or another run's checkpoint."""
        self.run, self.config, self._keeper = run, config, keeper
        self._log = AttemptLog(run, emit)
        self._rows = attempt_records.begin(self._log, config)
        self._rule = StopRule(config, run_status.read(run.status).stopped_by_rule is not None)
        self.stop_handlers = StopHandlers(self._rows, config.trainer)
        self._deadline = Deadline(config.trainer.step_limit_s, self.stop_handlers.on_deadline)
        fingerprints = (lambda: self._rows.provenance.own), self._rows.sums
        self._saver = Saver(run.checkpoints, config.trainer, *fingerprints, self._on_saved)
        self._watch = EvaluationWatch(emit, config.policy.kind != "tabular", self.poll)
        self.timed = self._watch.timed
        """A context for a part of an evaluation that the step's event times separately."""
        self._gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.others_cpu_s: Callable[[], float] = lambda: 0.0  # CPU seconds of other ranks
        try:
            self._served = _served_users(self._rows, config, self._deadline)
            self._rule.take_all(self.row, self.start)
        except DataError:
            self._rows.close()
            raise

    @property
    def saved(self) -> Path | None:
        """The folder of the checkpoint that the run continues from; None for a fresh run."""
        checkpoint = self._rows.checkpoint
        return checkpoint.path if checkpoint else None

    @property
    def start(self) -> int:
        """The step of the checkpoint that the run continues from; 0 for a fresh run."""
        return self._rows.start

    @property
    def last_step(self) -> int:
        """The step of the last row on disk."""
        return self._rows.last_step

    def row(self, step: int) -> dict[str, Any]:
        """Return row `step` from disk."""
        return self._rows.values(step)

    def reach_users(self) -> None:
        """Raise EndpointError if served users are needed and the endpoint does not answer."""
        if self._served is not None:
            self._served.reach()

    def start_from(self, start_model: str | None) -> None:
        """Write the sum of the loaded start model to run.json.

        Raises DataError if the run or its checkpoint began with another start model.
        """
        self._rows.start_from(start_model)

    def begin(self, measurement: Mapping[str, Any]) -> None:
        """Write the measurement card and log the step that the run starts from."""
        status = self._log.write_status(measurement=measurement, **self._rows.for_status())
        if self._served is not None:
            self._served.at_step(self.start + 1)
        event = "resume" if status.attempts > 1 else "start"
        code = asdict(self._rows.provenance.own.made_by)
        position = {"step": self.start, "rows": self.last_step}
        where = {"gpus": self._gpus, "ranks": self.config.trainer.world}
        self.note(event, **position, **where, anchors=evaluate.anchors(self.config), **code)
        self._log.emit({"event": event, "step": self.start})
        self._deadline.restart()

    def note(self, event: str, **values: Any) -> None:
        """Log an event to events.jsonl: values that may differ between two runs of one config."""
        self._log.note(event, **values)

    def judge_evaluation(self, step: int, values: Mapping[str, float | None]) -> None:
        """Raise EndpointError if the evaluation of `step` lost too many served users."""
        if self._served is not None:
            self._served.judge_evaluation(step, values)

    def poll(self) -> None:
        """Check for a stop request. Called between turns and tokens, when no update is under way.

        After a stop request, save the checkpoint of the last step, since the current step may take
        longer than the grace period; during an evaluation, raise StoppedError. Also raises an error
        of the thread that writes checkpoints.
        """
        self._saver.collect()
        if self.stop_handlers.asked_by is None:
            return
        self.save_last()
        if self._watch.step is not None:
            raise self.stop_handlers.stop_error(f"in the evaluation of step {self._watch.step}")

    def save_last(self) -> None:
        """Save a checkpoint of the last finished step unless it has one.

        Valid before an update, or during updates if `before_update` made a copy.
        """
        self._saver.save()

    def before_update(self) -> None:
        """Copy the last finished step's state if it has no checkpoint: an update will change it."""
        self._saver.keep()

    def evaluation(self, step: int) -> AbstractContextManager[Callable[[int, int], None]]:
        """Return a context for the evaluation of `step`; in it `poll` raises after a stop request.

        It yields a function that reports progress; its arguments are the number of conversations
        held so far and in total.
        """
        return self._watch.of_step(step)

    def record(
        self,
        step: int,
        values: Mapping[str, float | None],
        turns: Callable[[], Sequence[TurnRecord]] | None = None,
        **phases_s: float,
    ) -> None:
        """Make row `step` durable and report it; write its conversations if they are due.

        `phases_s`: wall-clock seconds of the step's rollout, eval, update and so on; parts timed
        with `timed` are subtracted from eval. Raises DivergedError, where rows are reproducible, if
        a row on disk differs, and StoppedError if another process has taken over the folder.
        """
        if self._keeper.renew():
            self.note("lock_renewed", step=step)
        new = self._rows.append(step, values)
        self._rule.take(step, values)
        interval = self.config.trainer.conversations_every
        due = step in (1, self.config.trainer.steps) or step % interval == 0
        if turns is not None and due:
            conversations.write(self.run.conversations, step, turns())
        spent = self._watch.move_times_from("eval", phases_s)
        seconds = {name: round(value, 4) for name, value in spent.items()}
        cpu_s = round(time.process_time() + self.others_cpu_s(), 3)
        self.note("step", step=step, replayed=not new, seconds=seconds, cpu_s=cpu_s)
        if self._served is not None:
            self._served.count(step, values, new)
        self._log.emit({"event": "step", "step": step, "values": values})

    def finish_step(
        self,
        step: int,
        fill: Fill,
        unheard: str | None = None,
        copy: Callable[[], Fill] | None = None,
    ) -> None:
        """Save a checkpoint with `fill` if one is due, and end the run if it must stop.

        `copy`: if given, checkpoints that do not end the run are copied and written in a thread,
        whose errors a later call raises. `unheard`: the reason from SignalWatch if there is nothing
        to learn from, which ends the run.

        Raises StoppedError after a stop request or for `unheard`, and EarlyEnd if trainer.stop_when
        ends the run, both with the checkpoint of `step` on disk; EndpointError if too many
        conversations with served users were lost.
        """
        trainer, stop_requested = self.config.trainer, self.stop_handlers.asked_by is not None
        early_reason = self._rule.reason(step)
        stopping = (
            stop_requested or unheard is not None or early_reason is not None
        ) and step < trainer.steps
        self._saver.take(UnsavedStep(step, fill, copy), stopping or step == trainer.steps)
        if early_reason is not None:
            self._log.write_status(stopped_by_rule=self._rule.record(step))
            raise self._rule.end_error(str(self.run.path), step, early_reason)
        if stopping and unheard is not None:
            raise StoppedError(f"{self.run.path}: step {step}: {unheard}")
        if stopping:
            raise self.stop_handlers.stop_error(f"after step {step}")
        if self._served is not None:
            self._served.judge(step)
            self._served.at_step(step + 1)
        self._deadline.restart()

    def end_deadline(self) -> None:
        """Stop the current step's deadline, for work that belongs to no step."""
        self._deadline.end()

    def _on_saved(self, step: int, seconds: float) -> None:
        self._rows.write_status()
        self.note("checkpoint", step=step, seconds=round(seconds, 4))
        self._log.emit({"event": "checkpoint", "step": step})

    def close(self) -> None:
        """Wait for the last checkpoint (within grace and deadline), close logs, write run.json."""
        with contextlib.ExitStack() as last:
            last.callback(self._close)
            self._saver.wait()

    def _close(self) -> None:
        """Close everything, whether or not the last checkpoint was written."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._deadline.end()
        self._rows.close()
        if self._served is not None:
            self._served.close()
        self._rows.write_status()


def _served_users(rows: AttemptRows, config: RunConfig, deadline: Deadline) -> ServedUsers | None:
    """Return the served users of a run, or None. The client is imported only if they are needed."""
    if config.simulator.kind != "served":
        return None
    from harness.train.loop.served_users import ServedUsers

    return ServedUsers(rows, config, deadline)


@contextlib.contextmanager
def open_session(run: RunFolder, config: RunConfig, emit: Emit) -> Iterator[Session]:
    """Open a session with its signal handlers installed; close it at the end."""
    with holder.only_writer(run) as keeper:
        session = Session(run, config, emit, keeper)
        for number in STOP_SIGNALS:
            signal.signal(number, session.stop_handlers.on_signal)
        signal.signal(signal.SIGALRM, session.stop_handlers.on_grace_over)
        try:
            yield session
        except BaseException:
            with contextlib.suppress(HarnessError):  # the error that ended the run says more
                session.close()
            raise
        session.close()
