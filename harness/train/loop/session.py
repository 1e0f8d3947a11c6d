"""The run folder while a run trains: where it starts, its rows and checkpoints, and when it stops.

A session is one attempt at a run. Both training loops use it: the tabular policy's own, and TRL's
for language models. Within a step it writes in this order: the row, fsynced; the conversations,
where they are due; the event of the step; a checkpoint, where one is due.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.config.run import RunConfig
from harness.errors import DataError, HarnessError, StoppedError, StorageError
from harness.records import (
    checkpoints,
    compatibility,
    conversations,
    holder,
    run_folder,
    run_status,
)
from harness.records.conversations import TurnRecord
from harness.records.events import EventLog
from harness.records.holder import Keeper
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train.loop import resume_checks
from harness.train.loop.attempt_rows import AttemptRows
from harness.train.loop.early_end import Deadline, Leaving
from harness.train.loop.part_times import PartTimes
from harness.train.loop.progress_lines import Emit
from harness.train.loop.saving import Fill, Saver, Unsaved
from harness.train.loop.stop_rule import StopRule
from harness.train.metrics import evaluate
from harness.utils import safe_text
from harness.utils.process import STOP_SIGNALS

if TYPE_CHECKING:
    from harness.simulator.served.faults import Outage
    from harness.train.loop.served_users import ServedUsers


class Session:
    """One attempt at a run; made by `opened`."""

    def __init__(self, run: RunFolder, config: RunConfig, emit: Emit, keeper: Keeper) -> None:
        """Find where to start. Raises DataError for damaged rows or a checkpoint of another run."""
        self.run, self.config = run, config
        run_folder.refuse_links(run)
        cleared = checkpoints.clear(run.checkpoints)
        status = run_status.read(run)
        resume_checks.refuse_another_reader(run, config, status)
        provenance = resume_checks.provenance_of(run, config, status)
        self._checkpoint, problems = checkpoints.newest(run.checkpoints, provenance.own)
        self._emit, self._keeper = emit, keeper
        told = self.note, self._write_rows
        self._rows = AttemptRows(run, config, self._checkpoint, provenance, *told)
        self._rule = StopRule(config, status.stopped_by_rule is not None)
        self._events = EventLog(run.events)
        self.leaving = Leaving(run, config.trainer, self._rows.for_status, emit)
        self._deadline = Deadline(config.trainer.step_limit_s, self.leaving.on_deadline)
        self._in_step = False
        own = (lambda: self._rows.provenance.own), self._rows.sums
        self._saver = Saver(run.checkpoints, config.trainer, *own, self._on_saved)
        self._evaluated: int | None = None
        self._parts = PartTimes()
        self.timed = self._parts.timed
        """A context for a part of an evaluation that the step's event times apart from the rest."""
        self._gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.others_cpu_s: Callable[[], float] = lambda: 0.0  # of the run's other ranks, so far
        self._served = _served_users(run, config, self._on_outage)
        moved, unlike = self._rows.moved_aside, provenance.notice(self.last_step)
        later = compatibility.keys_that_came_later(run)
        resume_checks.report(self.note, cleared, problems, moved, unlike, self._checkpoint, later)
        resume_checks.report_columns(self.note, self._rows.columns)
        try:
            self._rows.refuse_others()
            self._rule.take_all(self.row, self.start)
        except DataError:
            self._rows.close()
            raise

    @property
    def saved(self) -> Path | None:
        """The folder of the checkpoint that the run goes on from; None for a fresh run."""
        return self._checkpoint.path if self._checkpoint else None

    @property
    def start(self) -> int:
        """The last step of the checkpoint; 0 for a fresh run."""
        return self._rows.start

    @property
    def last_step(self) -> int:
        """Step of the last row on disk."""
        return self._rows.last_step

    def row(self, step: int) -> dict[str, Any]:
        """Row `step` on disk."""
        return self._rows.values(step)

    def reach_users(self) -> None:
        """Raise EndpointError if a run with served users, and rows to make, gets no answer."""
        if self._served is not None and self.last_step < self.config.trainer.steps:
            self._served.reach()

    def start_from(self, start_model: str | None) -> None:
        """Write the sum of the loaded start model to run.json.

        Raises DataError if the run, or its checkpoint, began with another one.
        """
        own = self._rows.provenance.with_start_model(start_model, self._checkpoint)
        self._rows.provenance = own
        self._write_status(start_model=start_model)

    def begin(self, measurement: Mapping[str, Any]) -> None:
        """Write the measurement card and log where the run starts."""
        status = self._write_status(measurement=measurement, **self._rows.for_status())
        if self._served is not None:
            self._served.at_step(self.start + 1, self.last_step)
        event = "resume" if status.attempts > 1 else "start"
        code = asdict(self._rows.provenance.own.made_by)
        begins = {"step": self.start, "rows": self.last_step}
        where = {"gpus": self._gpus, "ranks": self.config.trainer.world}
        self.note(event, **begins, **where, anchors=evaluate.anchors(self.config), **code)
        self._emit({"event": event, "step": self.start})
        self._in_step = True
        self._deadline.restart()

    def note(self, event: str, **values: Any) -> None:
        """Log to events.jsonl what may differ between two runs of one config."""
        self._events.append(event, **values)

    def judge_evaluation(self, step: int, values: Mapping[str, float | None]) -> None:
        """Raise EndpointError if the evaluation of `step` lost too many served users."""
        if self._served is not None:
            self._served.judge_evaluation(step, values)

    def poll(self) -> None:
        """Look for a stop request; called between turns and tokens, where no update is under way.

        After one the checkpoint of the last step is saved, in case this step takes longer than the
        grace. An evaluation is not waited for: StoppedError is raised. Raises what a checkpoint
        that was written meanwhile has raised.
        """
        self._saver.collect()
        if self.leaving.asked_by is None:
            return
        self.save_last()
        if self._evaluated is not None:
            raise self.leaving.stopped(f"in the evaluation of step {self._evaluated}")

    def save_last(self) -> None:
        """Save the last whole step, unless it is; before an update, or what was kept before one."""
        self._saver.save()

    def before_update(self) -> None:
        """Copy the last step's end, where it has no checkpoint: weights change before the next."""
        self._saver.keep()

    @contextlib.contextmanager
    def evaluation(self, step: int) -> Iterator[Callable[[int, int], None]]:
        """A context for the evaluation of `step`, in which `poll` raises after a stop request.

        It yields a function to be called with the conversations held so far and those in all, which
        reports progress.
        """
        began = time.monotonic()
        is_slow = self.config.policy.kind != "tabular"

        def at(held: int, of: int) -> None:
            if held or is_slow:
                spent = round(time.monotonic() - began, 1)
                far = {"held": held, "of": of, "seconds": spent}
                self._emit({"event": "evaluation", "step": step, **far})
            self.poll()

        self._evaluated = step
        try:
            yield at
        finally:
            self._evaluated = None

    def record(
        self,
        step: int,
        values: Mapping[str, float | None],
        turns: Callable[[], Sequence[TurnRecord]] | None = None,
        **phases_s: float,
    ) -> None:
        """Make row `step` durable and report it; write its conversations where they are due.

        `phases_s`: wall clock of the step's rollout, eval and update; what was timed apart is taken
        from eval. Raises DivergedError, on a CPU, if the row was on disk already and differs;
        StoppedError if another process has taken the folder.
        """
        if self._keeper.renew():
            self.note("lock_renewed", step=step)
        new = self._rows.append(step, values)
        self._rule.take(step, values)
        every = self.config.trainer.conversations_every
        due = step in (1, self.config.trainer.steps) or step % every == 0
        if turns is not None and due:
            conversations.write(self.run.conversations, step, turns())
        spent = self._parts.taken_from("eval", phases_s)
        seconds = {name: round(value, 4) for name, value in spent.items()}
        cpu_s = round(time.process_time() + self.others_cpu_s(), 3)
        self.note("step", step=step, replayed=not new, seconds=seconds, cpu_s=cpu_s)
        if self._served is not None:
            self.note("simulator", step=step, **self._served.cost())
            self._served.count(values, new)
        self._emit({"event": "step", "step": step, "values": values})

    def finish_step(
        self,
        step: int,
        fill: Fill,
        unheard: str | None = None,
        copy: Callable[[], Fill] | None = None,
    ) -> None:
        """Save a checkpoint by `fill` if one is due, and end the run if a stop was requested.

        With `copy`, a checkpoint that does not end the run is written in a thread; what that raises
        is raised by a later call.

        `unheard`: why there is nothing to learn from, as SignalWatch says; the run ends too. Raises
        StoppedError for either, with the checkpoint of `step` on disk; EarlyEnd where
        trainer.stop_when ends it; EndpointError where the users were out of reach for too long.
        """
        trainer, asked = self.config.trainer, self.leaving.asked_by is not None
        early = self._rule.reason(step)
        stopping = (asked or unheard is not None or early is not None) and step < trainer.steps
        self._saver.take(Unsaved(step, fill, copy), stopping or step == trainer.steps)
        if early is not None:
            self._write_status(stopped_by_rule=self._rule.record(step))
            raise self._rule.ended(str(self.run.path), step, early)
        if stopping and unheard is not None:
            raise StoppedError(f"{self.run.path}: step {step}: {unheard}")
        if stopping:
            raise self.leaving.stopped(f"after step {step}")
        if self._served is not None:
            self._served.judge(step)
            self._served.at_step(step + 1, self.last_step)
        self._deadline.restart()

    def end_deadline(self) -> None:
        """Stop the clock of the step at hand: what comes now belongs to none."""
        self._deadline.end()

    def _on_saved(self, step: int, seconds: float) -> None:
        self._write_rows()
        self.note("checkpoint", step=step, seconds=round(seconds, 4))
        self._emit({"event": "checkpoint", "step": step})

    def close(self) -> None:
        """Wait for the last checkpoint, within grace and deadline; close logs; write run.json."""
        with contextlib.ExitStack() as last:
            last.callback(self._close)
            self._saver.wait()

    def _close(self) -> None:
        """What must be done however the last checkpoint ended."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._deadline.end()
        self._rows.close()
        if self._served is not None:
            self._served.close()
        self._write_rows()

    def _on_outage(self, outage: Outage) -> None:
        """Report an outage. The step's deadline is suspended, and begins anew once it is over."""
        url, longest_s = self.config.simulator.base_url, self.config.simulator.outage_s
        if outage.seconds is None:
            self._deadline.end()
            wait = f"waiting up to {longest_s:g} s (simulator.outage_s)"
            reason = f"{url} does not answer, {outage.fault}; {wait}"
            self._write_status(reason=reason)
            safe_text.say(f"{self.run.path}: {reason}")
            return
        self._write_status(reason=None)
        facts = {"fault": outage.fault, "seconds": outage.seconds, "answered": outage.answered}
        self.note("outage", step=self.last_step + 1, **facts)
        if outage.answered:
            safe_text.say(f"{self.run.path}: {url} answers again, after {outage.seconds:.0f} s")
        if self._in_step:
            self._deadline.restart()

    def _write_rows(self) -> None:
        """Say in run.json which rows are on disk."""
        self._write_status(**self._rows.for_status())

    def _write_status(self, **values: Any) -> RunStatus:
        """Set `values` in run.json. Raises StorageError, also if the folder has been removed."""
        try:
            status = run_status.read(self.run)
        except DataError as error:
            raise StorageError(str(error)) from error
        now = replace(status, **values)
        run_status.write(self.run, now)
        return now


def _served_users(
    run: RunFolder, config: RunConfig, on_outage: Callable[[Outage], None]
) -> ServedUsers | None:
    if config.simulator.kind != "served":
        return None
    from harness.train.loop.served_users import ServedUsers

    return ServedUsers(run, config, on_outage)


@contextlib.contextmanager
def opened(run: RunFolder, config: RunConfig, emit: Emit) -> Iterator[Session]:
    """A session with its signal handlers installed; closed in the end."""
    with holder.only_writer(run) as keeper:
        session = Session(run, config, emit, keeper)
        for number in STOP_SIGNALS:
            signal.signal(number, session.leaving.on_signal)
        signal.signal(signal.SIGALRM, session.leaving.on_grace_over)
        try:
            yield session
        except BaseException:
            with contextlib.suppress(HarnessError):  # the error that ended the run says more
                session.close()
            raise
        session.close()
