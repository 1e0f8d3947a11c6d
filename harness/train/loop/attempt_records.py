"""What one attempt at a run writes in its folder while it trains: rows, events and run.json.

Rows are appended, or computed again after a resume and compared. A row that is on disk already must
come out with the same bytes, where the run promises that; where it does not (on a GPU, or on
another number of ranks), the newer row and what follows it stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from harness.config.run import RunConfig
from harness.errors import DataError, DivergedError, StorageError
from harness.records import checkpoints, compatibility, run_folder, run_status
from harness.records.checkpoints import Checkpoint
from harness.records.events import EventLog
from harness.records.metric_rows import RowSums
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train.loop import resume_checks
from harness.train.loop.progress_lines import Emit
from harness.train.loop.resume_checks import Provenance


class AttemptLog:
    """Where an attempt tells what it does: events.jsonl, run.json, and whoever watches it."""

    def __init__(self, run: RunFolder, emit: Emit) -> None:
        """`emit`: tells those who watch."""
        self.run, self.emit = run, emit
        self._events = EventLog(run.events)

    def note(self, event: str, **values: Any) -> None:
        """Log to events.jsonl what may differ between two runs of one config."""
        self._events.append(event, **values)

    def write_status(self, **values: Any) -> RunStatus:
        """Set `values` in run.json. Raises StorageError, also if the folder has been removed."""
        try:
            status = run_status.read(self.run.status)
        except DataError as error:
            raise StorageError(str(error)) from error
        now = replace(status, **values)
        run_status.write(self.run.status, now)
        return now


class AttemptRows:
    """metrics.jsonl, with what its rows after the checkpoint came to."""

    def __init__(
        self,
        log: AttemptLog,
        config: RunConfig,
        checkpoint: Checkpoint | None,
        provenance: Provenance,
    ) -> None:
        """`checkpoint`: what the attempt goes on from. Raises DataError for a damaged row up to
        it.
        """
        self.log, self._config, self.checkpoint = log, config, checkpoint
        self.provenance = provenance
        """Whose rows they are."""
        self._rows = MetricsLog(log.run.metrics, needed=self.start)
        self._replayed = 0
        self._superseded = 0

    @property
    def start(self) -> int:
        """The last step of the checkpoint; 0 for a fresh run."""
        return self.checkpoint.step if self.checkpoint else 0

    @property
    def last_step(self) -> int:
        """Step of the last row on disk."""
        return self._rows.last_step

    @property
    def moved_aside(self) -> str | None:
        """Why rows past the checkpoint are computed again; None if none were damaged."""
        return self._rows.moved_aside

    @property
    def columns(self) -> tuple[str, ...]:
        """Metrics of each row."""
        return self._rows.columns

    def values(self, step: int) -> dict[str, Any]:
        """Row `step` on disk."""
        return self._rows.values(step)

    def sums(self, step: int) -> RowSums | None:
        """Fingerprint of the rows up to `step`."""
        return self._rows.sums(step)

    def for_status(self) -> dict[str, Any]:
        """The keys of run.json about the rows on disk."""
        sums = self.sums(self.last_step)
        return {"last_step": self.last_step, "rows": asdict(sums) if sums else None}

    def write_status(self) -> None:
        """Say in run.json which rows are on disk."""
        self.log.write_status(**self.for_status())

    def start_from(self, start_model: str | None) -> None:
        """Take the sum of the loaded start model into what the rows and checkpoints are of.

        Raises DataError if the run, or its checkpoint, began with another one.
        """
        self.provenance = self.provenance.with_start_model(start_model, self.checkpoint)
        self.log.write_status(start_model=start_model)

    def refuse_others(self) -> None:
        """Raise DataError if rows up to the checkpoint are missing, or are another run's."""
        if self.last_step < self.start:
            raise DataError(
                f"{self.log.run.metrics}: a run that continues from step {self.start} needs a row "
                f"for each step up to it, found {self.last_step}; without checkpoints/ it begins "
                "anew"
            )
        if self.checkpoint is not None:
            rows = self.sums(self.start)
            checkpoints.refuse_other_rows(self.checkpoint.path, self.log.run.metrics, rows)

    def append(self, step: int, values: Mapping[str, float | None]) -> bool:
        """Make row `step` durable; whether it is new.

        Raises DivergedError if the row was on disk, differs, and must not.
        """
        try:
            new = self._rows.append(step, values)
        except DivergedError as error:
            self._supersede(step, error)
            new = self._rows.append(step, values)
        self._replayed += not new
        return new

    def _supersede(self, step: int, error: DivergedError) -> None:
        """Move the rows from `step` on aside, unless they must not differ."""
        self._superseded += 1
        explained = self.provenance.explain(step, error, self.start)
        self.log.note("replay_mismatch", step=step, problem=str(explained))
        if self.provenance.promises(step, self._config):
            raise explained from error
        self._rows.supersede(step)
        self.write_status()

    def close(self) -> None:
        """Close the file; note how many rows were compared, if any were."""
        self._rows.close()
        if self._replayed or self._superseded:
            compared = self._replayed + self._superseded
            self.log.note("replay_check", compared=compared, mismatched=self._superseded)


def begin(log: AttemptLog, config: RunConfig) -> AttemptRows:
    """The rows of a new attempt, which goes on from the newest sound checkpoint.

    Logs and prints what is odd in the folder. Raises DataError for what is damaged or another's.
    """
    run = log.run
    run_folder.refuse_links(run)
    cleared = checkpoints.clear(run.checkpoints)
    status = run_status.read(run.status)
    resume_checks.refuse_another_reader(run, config, status)
    provenance = resume_checks.provenance_of(run, config, status)
    checkpoint, problems = checkpoints.newest(run.checkpoints, provenance.own)
    rows = AttemptRows(log, config, checkpoint, provenance)
    unlike, later = provenance.notice(rows.last_step), compatibility.keys_that_came_later(run)
    found = cleared, problems, rows.moved_aside, unlike, checkpoint, later
    resume_checks.report(log.note, *found)
    resume_checks.report_columns(log.note, rows.columns)
    try:
        rows.refuse_others()
    except DataError:
        rows.close()
        raise
    return rows
