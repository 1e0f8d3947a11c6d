"""Checks whether the parts of a run's folder are as the run wrote them. Changes nothing.

`damage` checks whether a run with status done still has its rows; the rest is for `verify`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.errors import DataError
from harness.records import (
    checkpoints,
    compatibility,
    config_file,
    events,
    manifest,
    metric_rows,
    outcomes,
    plain_file,
    provenance,
)
from harness.records.checkpoints import Checkpoint
from harness.records.metric_rows import RowScan
from harness.records.provenance import MadeBy, RunIdentity
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus

OK, NOTE, DAMAGED = "ok", "note", "damaged"


@dataclass(frozen=True)
class IntegrityFinding:
    """Result of checking one part of a run."""

    part: str
    level: str
    """ok, note (whole, with something to know) or damaged."""
    message: str


def check_config(
    run: RunFolder, status: RunStatus, run_config: RunConfig
) -> Iterator[IntegrityFinding]:
    """Check config.yaml against the planned hash and seed."""
    changed = compatibility.config_change(run, status)
    if changed:
        yield IntegrityFinding("config", DAMAGED, changed)
    elif not status.config_hash:
        yield IntegrityFinding(
            "config", NOTE, f"{run.status}: has no hash to check the config with"
        )
    else:
        yield IntegrityFinding("config", OK, f"as planned, hash {status.config_hash}")
    missing = config_file.missing_keys(plain_file.yaml_values(run.config))
    if missing:
        message = f"{run.config}: was written before {', '.join(missing[:3])}"
        yield IntegrityFinding(
            "config", NOTE, f"{message}{' ...' * (len(missing) > 3)}: their defaults are used"
        )
    if run_config.simulator.profiles:
        plain_file.text(run.profiles)
        yield IntegrityFinding("profiles", OK, "readable")


def check_metrics(run: RunFolder, status: RunStatus, in_use: bool) -> Iterator[IntegrityFinding]:
    """Check every row's step and checksum, and that no row up to `last_step` is missing."""
    path, part = run.metrics, "rows"
    if not os.path.lexists(path) and not status.last_step:
        yield IntegrityFinding(part, OK, "none yet")
        return
    plain_file.refuse_link(path)
    scanned = metric_rows.scan(path)
    rule = f"must hold a row for each step up to {status.last_step}, as {run.status.name} says"
    if scanned.problem:
        yield IntegrityFinding(part, DAMAGED, scanned.problem)
    elif scanned.last_step < status.last_step:
        yield IntegrityFinding(part, DAMAGED, f"{path}: {rule}, got {scanned.last_step}")
    elif others := other_rows(run, status, scanned):
        yield IntegrityFinding(part, DAMAGED, others)
    else:
        yield IntegrityFinding(part, OK, f"{scanned.last_step} rows")
    if scanned.torn and not in_use:
        yield IntegrityFinding(part, NOTE, _describe_torn_row(run, scanned.last_step + 1))
    if scanned.without_checksum:
        message = f"{scanned.without_checksum} rows without checksums, made by an older version"
        yield IntegrityFinding(part, NOTE, f"{path}: {message}: changes to them cannot be detected")


def _describe_torn_row(run: RunFolder, step: int) -> str:
    """Say that the row of `step` has no end, and what a resume does about it."""
    saved_up_to = max(map(checkpoints.step_of, checkpoints.all_in(run.checkpoints)), default=0)
    end = f"{run.metrics}:{step}: is incomplete, as after a killed run"
    if saved_up_to < step:
        return f"{end}; a resume cuts it off and computes the row again"
    return f"{end}; a resume is refused while a checkpoint of step {saved_up_to} needs the row"


def other_rows(run: RunFolder, status: RunStatus, scanned: RowScan) -> str | None:
    """Describe rows that are valid one by one but are not the rows that the run wrote; None if they
    are, or if run.json has no fingerprint.
    """
    sums = scanned.sums(status.last_step)
    if status.rows is None or sums is None or status.rows == asdict(sums):
        return None
    return (
        f"{run.metrics}: rows 1 to {status.last_step} must have the checksum in {run.status.name} "
        f"({dict(status.rows)}), got {asdict(sums)}"
    )


def check_checkpoints(
    run: RunFolder, status: RunStatus, identity: RunIdentity | None
) -> Iterator[IntegrityFinding]:
    """Check each checkpoint's manifest and identity, and that the rows up to it exist."""
    part = "checkpoints"
    plain_file.refuse_link(run.checkpoints)
    on_disk = metric_rows.scan(run.metrics) if run.metrics.is_file() else None
    last_row = on_disk.last_step if on_disk else 0
    paths = checkpoints.all_in(run.checkpoints)
    problems = [
        problem for path in paths if (problem := _checkpoint_problem(path, identity, run, on_disk))
    ]
    if on_disk is None or on_disk.problem is None:  # otherwise `check_metrics` reports it
        problems += [
            f"{path}: must have a row for each step up to it, got {last_row}"
            for path in paths
            if checkpoints.step_of(path) > last_row
        ]
    steps = ", ".join(str(checkpoints.step_of(path)) for path in paths)
    ok_finding = IntegrityFinding(part, OK, f"of step {steps}" if paths else "none")
    yield from [IntegrityFinding(part, DAMAGED, problem) for problem in problems] or [ok_finding]
    unidentified = sum(not _has_identity(path) for path in paths)
    if unidentified and not problems:
        message = f"{unidentified} without the run's identity, made by an older version"
        yield IntegrityFinding(
            part, NOTE, f"{run.checkpoints}: {message}: the run they belong to cannot be checked"
        )
    if status.last_step and not paths:
        yield IntegrityFinding(
            part, NOTE, f"{run.checkpoints}: no checkpoint; a resume would start at step 1"
        )


def _checkpoint_problem(
    path: Path, identity: RunIdentity | None, run: RunFolder, on_disk: RowScan | None
) -> str | None:
    problem = manifest.problem(path)
    if problem is not None:
        return f"{path}: {problem}"
    try:
        checkpoint = Checkpoint(checkpoints.step_of(path), path, checkpoints.identity_of(path))
        checkpoints.refuse_another(checkpoint, identity)
        sums = on_disk.sums(checkpoint.step) if on_disk else None
        checkpoints.refuse_other_rows(path, run.metrics, sums)
    except DataError as error:
        return str(error)
    return None


def _has_identity(path: Path) -> bool:
    with contextlib.suppress(DataError):
        return checkpoints.identity_of(path) is not None
    return True


def check_versions(run: RunFolder, status: RunStatus, now: MadeBy) -> Iterator[IntegrityFinding]:
    """Compare the versions of each attempt, and those of `now`, with the planned ones."""
    part, planned = "versions", MadeBy(status.versions, status.git)
    others = [
        attempt for attempt in events.every(run.events) if provenance.differences(planned, attempt)
    ]
    for attempt in others:
        difference = ", ".join(provenance.differences(planned, attempt))
        yield IntegrityFinding(
            part, NOTE, f"{run.events}: an attempt ran with other versions: {difference}"
        )
    difference = ", ".join(provenance.differences(planned, now))
    newer = compatibility.unknown_keys(run, status)
    if newer:
        rule = "which this version does not know: a resume with it is refused"
        yield IntegrityFinding(part, NOTE, f"{run.path}: {', '.join(newer)}, {rule}")
    if difference:
        yield IntegrityFinding(
            part, NOTE, f"{run.status}: planned with other versions than these: {difference}"
        )
    elif not others:
        yield IntegrityFinding(part, OK, "as they are now")


def check_conversations(run: RunFolder) -> Iterator[IntegrityFinding]:
    """Check each file of conversations by reading it completely."""
    part = "conversations"
    plain_file.refuse_link(run.conversations)
    paths = sorted(run.conversations.glob("step-*.parquet"))
    damaged = [
        IntegrityFinding(part, DAMAGED, problem) for p in paths if (problem := _parquet_problem(p))
    ]
    yield from damaged or [IntegrityFinding(part, OK, f"{len(paths)} files")]


def _parquet_problem(path: Path) -> str | None:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        plain_file.refuse_link(path)
        with open(path, "rb", opener=plain_file.opener) as source:
            file = parquet.ParquetFile(source, pre_buffer=False)
            for group in range(file.num_row_groups):
                file.read_row_group(group, use_threads=False)
    except (pa.ArrowException, OSError, ValueError, DataError) as error:
        return f"{path}: must be a parquet file of turns, but is not: {plain_file.one_line(error)}"
    return None


def check_outcomes(run: RunFolder, status: RunStatus) -> Iterator[IntegrityFinding]:
    """Check that outcomes.json is well-formed, of the last evaluation, and has that row's means.

    Of an unfinished run it may be of another evaluation: it is written before the row, and a resume
    writes it again for recomputed evaluations.
    """
    part, path = "outcomes", run.outcomes
    evaluated = dict(_evaluated_rows(run)) if run.metrics.is_file() else {}
    if not os.path.lexists(path):
        if evaluated and status.status == "done":
            message = "is missing: lost, or the run is of an older version"
            yield IntegrityFinding(
                part, NOTE, f"{path}: {message}; `harness variance` uses means instead"
            )
        return
    plain_file.refuse_link(path)
    recorded = outcomes.read(path)
    last, row = max(evaluated, default=0), evaluated.get(recorded.step)
    if status.status == "done" and not last <= recorded.step <= status.last_step:
        rule = f"must be of the last evaluation, that of step {last}"
        yield IntegrityFinding(part, DAMAGED, f"{path}: step: {rule}; got {recorded.step}")
    elif row is not None and (problem := outcomes.describe_difference(path, recorded, row)):
        yield IntegrityFinding(part, DAMAGED, problem)
    else:
        yield IntegrityFinding(part, OK, f"of step {recorded.step}")


def _evaluated_rows(run: RunFolder) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield step and metrics of each undamaged row with an evaluation."""
    with open(run.metrics, "rb", opener=plain_file.opener) as file:
        for line in iter(lambda: file.readline(metric_rows.LONGEST_ROW_BYTES + 1), b""):
            if b'"eval/reward": ' not in line or b'"eval/reward": null' in line:
                continue
            with contextlib.suppress(ValueError, RecursionError):
                row = json.loads(line)
                if metric_rows.checksum_matches(line) is not False and type(row["step"]) is int:
                    yield row["step"], row


TAIL_BYTES = 16_384
"""Length of the end of the file that is searched for the last row, which takes about 3,000."""


def damage(run: RunFolder, status: RunStatus) -> str | None:
    """Describe a missing last row of a run with status done; None if there is no such damage."""
    if status.status != "done":
        return None
    last = _last_step(run)
    if last == status.last_step:
        return None
    rule = f"a run that is done must end with the row of step {status.last_step}"
    return f"damaged: {run.metrics}: {rule}, got {f'step {last}' if last else 'none'} as its last"


def _last_step(run: RunFolder) -> int:
    """Return the step of the last complete row; 0 if there is no readable one."""
    step = last_row(run).get("step")
    return step if type(step) is int else 0


def last_row(run: RunFolder) -> Mapping[str, Any]:
    """Return the last complete row; empty if there is no readable one."""
    try:
        with open(run.metrics, "rb", opener=plain_file.opener) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            tail = file.read(TAIL_BYTES)
        last = tail[: tail.rfind(b"\n") + 1].splitlines(keepends=True)[-1]
        row = json.loads(last) if metric_rows.checksum_matches(last) is not False else None
    except (OSError, ValueError, LookupError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
