"""The rows of a run in one attempt: appended, or computed again after a resume and compared.

A row that is on disk already must come out with the same bytes, where the run promises that; where
it does not (on a GPU, or on another number of ranks), the newer row and what follows it stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from harness.config.run import RunConfig
from harness.errors import DataError, DivergedError
from harness.records import checkpoints
from harness.records.checkpoints import Checkpoint
from harness.records.metric_rows import RowSums
from harness.records.metrics_log import MetricsLog
from harness.records.run_folder import RunFolder
from harness.train.loop.resume_checks import Provenance


class AttemptRows:
    """metrics.jsonl, with what its rows after the checkpoint came to."""

    def __init__(
        self,
        run: RunFolder,
        config: RunConfig,
        checkpoint: Checkpoint | None,
        provenance: Provenance,
        note: Callable[..., None],
        moved: Callable[[], None],
    ) -> None:
        """`note`: logs an event; `moved`: called when rows have been moved aside, so that run.json
        speaks of those that are left. Raises DataError for a damaged row up to the checkpoint.
        """
        self._run, self._config, self._checkpoint = run, config, checkpoint
        self._note, self._moved = note, moved
        self.provenance = provenance
        """Whose rows they are; set once the start model is loaded."""
        self._log = MetricsLog(run.metrics, needed=self.start)
        self._replayed = 0
        self._superseded = 0

    @property
    def start(self) -> int:
        """The last step of the checkpoint; 0 for a fresh run."""
        return self._checkpoint.step if self._checkpoint else 0

    @property
    def last_step(self) -> int:
        """Step of the last row on disk."""
        return self._log.last_step

    @property
    def moved_aside(self) -> str | None:
        """Why rows past the checkpoint are computed again; None if none were damaged."""
        return self._log.moved_aside

    @property
    def columns(self) -> tuple[str, ...]:
        """Metrics of each row."""
        return self._log.columns

    def values(self, step: int) -> dict[str, Any]:
        """Row `step` on disk."""
        return self._log.values(step)

    def sums(self, step: int) -> RowSums | None:
        """Fingerprint of the rows up to `step`."""
        return self._log.sums(step)

    def for_status(self) -> dict[str, Any]:
        """The keys of run.json about the rows on disk."""
        sums = self.sums(self.last_step)
        return {"last_step": self.last_step, "rows": asdict(sums) if sums else None}

    def refuse_others(self) -> None:
        """Raise DataError if rows up to the checkpoint are missing, or are another run's."""
        if self.last_step < self.start:
            raise DataError(
                f"{self._run.metrics}: a run that continues from step {self.start} needs a row for "
                f"each step up to it, found {self.last_step}; without checkpoints/ it begins anew"
            )
        if self._checkpoint is not None:
            rows = self.sums(self.start)
            checkpoints.refuse_other_rows(self._checkpoint.path, self._run.metrics, rows)

    def append(self, step: int, values: Mapping[str, float | None]) -> bool:
        """Make row `step` durable; whether it is new.

        Raises DivergedError if the row was on disk, differs, and must not.
        """
        try:
            new = self._log.append(step, values)
        except DivergedError as error:
            self._supersede(step, error)
            new = self._log.append(step, values)
        self._replayed += not new
        return new

    def _supersede(self, step: int, error: DivergedError) -> None:
        """Move the rows from `step` on aside, unless they must not differ."""
        self._superseded += 1
        explained = self.provenance.explain(step, error, self.start)
        self._note("replay_mismatch", step=step, problem=str(explained))
        if self.provenance.promises(step, self._config):
            raise explained from error
        self._log.supersede(step)
        self._moved()

    def close(self) -> None:
        """Close the file; note how many rows were compared, if any were."""
        self._log.close()
        if self._replayed or self._superseded:
            compared = self._replayed + self._superseded
            self._note("replay_check", compared=compared, mismatched=self._superseded)
