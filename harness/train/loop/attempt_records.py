"""The files that an attempt at a run writes during training: rows, events and run.json.

Rows are appended; rows that a resumed run computes again are compared with those on disk. They must
have the same bytes if the run is reproducible. If it is not (on a GPU, or with another number of
ranks), the newer row replaces the old one and those after it.
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
    """The reports of an attempt: events.jsonl, run.json, and the progress display."""

    def __init__(self, run: RunFolder, emit: Emit) -> None:
        """`emit`: receives events for the progress display."""
        self.run, self.emit = run, emit
        self._events = EventLog(run.events)

    def note(self, event: str, **values: Any) -> None:
        """Log an event to events.jsonl: values that may differ between two runs of one config."""
        self._events.append(event, **values)

    def write_status(self, **values: Any) -> RunStatus:
        """Set `values` in run.json. Raises StorageError, also if the folder has been removed."""
        try:
            status = run_status.read(self.run.status)
        except DataError as error:
            raise StorageError(str(error)) from error
        updated = replace(status, **values)
        run_status.write(self.run.status, updated)
        return updated


class AttemptRows:
    """The rows of metrics.jsonl, and comparisons with those that are computed again."""

    def __init__(
        self,
        log: AttemptLog,
        config: RunConfig,
        checkpoint: Checkpoint | None,
        provenance: Provenance,
    ) -> None:
        """`checkpoint`: where the attempt continues. Raises DataError for damaged rows before."""
        self.log, self._config, self.checkpoint = log, config, checkpoint
        self.provenance = provenance
        """The identity of the rows' run and of the versions that write them."""
        self._rows = MetricsLog(log.run.metrics, needed=self.start)
        self._replayed = 0
        self._superseded = 0

    @property
    def start(self) -> int:
        """The step of the checkpoint that the run continues from; 0 for a fresh run."""
        return self.checkpoint.step if self.checkpoint else 0

    @property
    def last_step(self) -> int:
        """The step of the last row on disk."""
        return self._rows.last_step

    @property
    def moved_aside(self) -> str | None:
        """Why rows past the checkpoint are computed again; None if none were damaged."""
        return self._rows.moved_aside

    @property
    def columns(self) -> tuple[str, ...]:
        """The metrics of each row."""
        return self._rows.columns

    def values(self, step: int) -> dict[str, Any]:
        """Return row `step` from disk."""
        return self._rows.values(step)

    def sums(self, step: int) -> RowSums | None:
        """Return a fingerprint of the rows up to `step`."""
        return self._rows.sums(step)

    def for_status(self) -> dict[str, Any]:
        """Return the keys of run.json that describe the rows on disk."""
        sums = self.sums(self.last_step)
        return {"last_step": self.last_step, "rows": asdict(sums) if sums else None}

    def write_status(self) -> None:
        """Describe the rows on disk in run.json."""
        self.log.write_status(**self.for_status())

    def start_from(self, start_model: str | None) -> None:
        """Add the sum of the loaded start model to the provenance and to run.json.

        Raises DataError if the run or its checkpoint began with another start model.
        """
        self.provenance = self.provenance.with_start_model(start_model, self.checkpoint)
        self.log.write_status(start_model=start_model)

    def refuse_others(self) -> None:
        """Raise DataError if rows up to the checkpoint are missing or belong to another run."""
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
        """Make row `step` durable. Return whether it is new.

        Raises DivergedError if a row on disk differs although the run is reproducible.
        """
        try:
            new = self._rows.append(step, values)
        except DivergedError as error:
            self._supersede(step, error)
            new = self._rows.append(step, values)
        self._replayed += not new
        return new

    def _supersede(self, step: int, error: DivergedError) -> None:
        """Move the rows from `step` on aside; raise DivergedError if the run is reproducible."""
        self._superseded += 1
        explained = self.provenance.explain(step, error, self.start)
        self.log.note("replay_mismatch", step=step, problem=str(explained))
        if self.provenance.promises(step, self._config):
            raise explained from error
        self._rows.supersede(step)
        self.write_status()

    def close(self) -> None:
        """Close the file. Log how many rows were compared, if any were."""
        self._rows.close()
        if self._replayed or self._superseded:
            compared = self._replayed + self._superseded
            self.log.note("replay_check", compared=compared, mismatched=self._superseded)


def begin(log: AttemptLog, config: RunConfig) -> AttemptRows:
    """Return the rows of a new attempt, which continues from the newest sound checkpoint.

    Logs and prints irregularities in the folder. Raises DataError for damaged files or another
    run's.
    """
    run = log.run
    run_folder.refuse_links(run)
    cleared = checkpoints.clear(run.checkpoints)
    status = run_status.read(run.status)
    resume_checks.refuse_another_reader(run, config, status)
    provenance = resume_checks.provenance_of(run, config, status)
    checkpoint, problems = checkpoints.newest(run.checkpoints, provenance.own)
    rows = AttemptRows(log, config, checkpoint, provenance)
    version_change = provenance.notice(rows.last_step)
    later_keys = compatibility.keys_that_came_later(run)
    findings = cleared, problems, rows.moved_aside, version_change, checkpoint, later_keys
    resume_checks.report(log.note, *findings)
    resume_checks.report_columns(log.note, rows.columns)
    try:
        rows.refuse_others()
    except DataError:
        rows.close()
        raise
    return rows
