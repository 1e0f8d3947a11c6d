"""Checks when a run is resumed: irregularities in its folder, and who wrote its rows.

Irregularities that do not prevent the resume are logged to events.jsonl and printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config.run import RunConfig
from harness.config.trainer import SERVERS
from harness.errors import ConfigError, DataError, DivergedError
from harness.records import checkpoints, config_file, events, manifest, provenance
from harness.records import validity as records
from harness.records.checkpoints import Checkpoint
from harness.records.metrics import MEASURED
from harness.records.provenance import MadeBy, RunIdentity
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.simulator import factory
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.utils import safe_text


def report(
    note: Callable[..., None],
    cleared: int,
    passed_over: Sequence[str],
    moved_aside: str | None,
    version_change: str | None,
    checkpoint: Checkpoint | None,
    later_keys: Sequence[str],
) -> None:
    """Log and print the irregularities that an attempt found in its run folder.

    `note`: logs an event; `cleared`: number of folders left over from interrupted saves;
    `passed_over`: why checkpoints were not used; `moved_aside`: why rows are computed again;
    `version_change`: a warning if versions have changed; `later_keys`: config keys that are newer
    than the run.
    """
    start = checkpoint.step if checkpoint else 0
    if cleared:
        note("scratch_cleared", folders=cleared)
    for problem in passed_over:
        note("checkpoint_passed_over", problem=problem)
        safe_text.say(f"{problem}; continuing from step {start}")
    if moved_aside:
        note("row_damaged", problem=moved_aside)
        consequence = (
            "it and later rows were moved to metrics.superseded.jsonl and are computed again"
        )
        safe_text.say(f"{moved_aside}; {consequence}")
    if checkpoint is not None and checkpoint.identity is None:
        note("checkpoint_without_identity", step=start)
        rule = "has no run identity (saved by an older version), so it cannot be checked"
        safe_text.say(f"{checkpoint.path}: {rule}")
    if version_change:
        note("versions_changed", problem=version_change)
        safe_text.say(version_change)
    if later_keys:
        note("defaults_taken", keys=list(later_keys))
        safe_text.say(
            f"config.yaml is older than these keys, which have their defaults: "
            f"{', '.join(later_keys)}"
        )


def refuse_another_reader(run: RunFolder, config: RunConfig, status: RunStatus) -> None:
    """Raise DataError if the users' reader is not the one that the run was planned with."""
    if config.simulator.kind != "scripted" or config.simulator.reader == LEXICAL.name:
        return
    name = factory.reader_of(config.simulator).name
    for level in (records.from_json(status.validity) or {}).values():
        if level.reader != name:
            raise DataError(
                f"{run.status}: a run must continue with the reader that it was planned with, "
                f"{level.reader}; got {name}; restore the files of simulator.reader_model and "
                "simulator.reader_head, or start another run"
            )


def refuse_lost_algorithm_files(run: RunFolder, config: RunConfig) -> None:
    """Raise ConfigError if the newest checkpoint is complete except for a file of
    checkpoints.ALGORITHM_FILES.

    A crash cannot cause that, so somebody removed the file. Checkpoints with other damage are
    skipped.
    """
    for path in reversed(checkpoints.all_in(run.checkpoints)):
        for file, content in checkpoints.ALGORITHM_FILES.items():
            if manifest.lacks_only(path, file):
                raise ConfigError(
                    f"{path / file}: a checkpoint of algorithm.kind={config.algorithm.kind} must "
                    f"hold the run's {content}, got no such file; restore it, or move {path.name} "
                    "away to continue from an earlier checkpoint"
                )
        if (path / manifest.NAME).is_file():
            return


def report_columns(note: Callable[..., None], columns: Sequence[str]) -> None:
    """Log and print how this version's metrics differ from those of the rows on disk.

    All rows of a run have the same metrics: new ones are left out and removed ones are null.
    `columns`: metrics of the rows on disk.
    """
    later = [key for key in MEASURED if key not in columns]
    former = [key for key in columns if key not in MEASURED]
    if later:
        note("columns_kept", without=later)
        safe_text.say(
            f"metrics.jsonl is older than these metrics, and goes on without: {_first_names(later)}"
        )
    if former:
        note("columns_empty", columns=former)
        safe_text.say(
            "this version does not measure these metrics, null from here on: "
            f"{_first_names(former)}"
        )


def _first_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"


@dataclass(frozen=True)
class Provenance:
    """The identity of this attempt's checkpoints, and the versions that wrote the rows so far."""

    run: RunFolder
    own: RunIdentity
    planned_with: MadeBy

    def unlike_writer_of(self, step: int) -> tuple[str, ...]:
        """Return the versions that have changed since the attempt that wrote row `step`.

        For `step` 0, return those that have changed since the run was planned.
        """
        writer = events.writer(self.run.events, step, self.planned_with)
        return provenance.differences(writer, self.own.made_by)

    def promises(self, step: int, config: RunConfig) -> bool:
        """Return whether row `step` must have the same bytes when it is computed again.

        False on a GPU, with a server (its batches include other clients' requests), and if the
        number of ranks has changed (the order of summation differs).
        """
        trainer = config.trainer
        same_ranks = events.ranks(self.run.events, step) == trainer.world
        return not trainer.gpus and trainer.engine not in SERVERS and same_ranks

    def notice(self, last_step: int) -> str | None:
        """Return a warning if versions have changed since row `last_step`; None otherwise."""
        changed = self.unlike_writer_of(last_step)
        if not changed:
            return None
        subject = f"row {last_step} was written with" if last_step else "it was planned with"
        return (
            f"{self.run.path}: {subject} other versions ({', '.join(changed)}), which may compute "
            "different rows; rows that are computed again are compared"
        )

    def explain(self, step: int, error: DivergedError, start: int) -> DivergedError:
        """Return `error` with the versions that have changed since row `step`, if any."""
        changed = self.unlike_writer_of(step)
        if not changed:
            return error
        return DivergedError(
            f"{error}; it was written with other versions ({', '.join(changed)}): resume with "
            f"those, or move the rows after row {start} out of {self.run.metrics.name} to continue "
            "with the present ones"
        )

    def with_start_model(self, loaded: str | None, checkpoint: Checkpoint | None) -> Provenance:
        """Return the provenance of a run whose start model has the sum `loaded`.

        Raises DataError if the run, or the checkpoint it continues from, began with another one.
        """
        recorded: list[tuple[Path, str | None]] = [(self.run.status, self.own.start_model)]
        if checkpoint is not None and checkpoint.identity is not None:
            recorded.append((checkpoint.path / manifest.NAME, checkpoint.identity.start_model))
        for path, recorded_sum in recorded:
            if recorded_sum is not None and recorded_sum != loaded:
                got, wanted = provenance.shorten(loaded), provenance.shorten(recorded_sum)
                raise DataError(
                    f"{path}: a run must continue with its start model, {wanted}, since the "
                    f"frozen copy of it judges replies; got {got}; restore its files and "
                    "libraries, or start another run with `harness train --dir`"
                )
        return replace(self, own=replace(self.own, start_model=loaded))


def provenance_of(run: RunFolder, config: RunConfig, status: RunStatus) -> Provenance:
    """Return the provenance of an attempt in this process; its config hash is the planned one."""
    planned = status.config_hash or config_file.config_hash(config)
    own = RunIdentity(planned, config.seed, status.start_model, provenance.current_versions())
    return Provenance(run, own, MadeBy(status.versions, status.git))
