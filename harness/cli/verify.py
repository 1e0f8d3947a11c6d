"""The verify command: check each part of runs for damage.

It changes nothing, and repairs nothing that a resume would repair, such as a torn last line or a
damaged start model in the cache.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from harness.cli import exit_codes, verify_view
from harness.cli.verify_view import RunVerification
from harness.config.run import RunConfig
from harness.errors import EXIT_PARTIAL, DataError, HarnessError
from harness.records import (
    compatibility,
    holder,
    manifest,
    plain_file,
    provenance,
    run_state,
    run_status,
    soundness,
    sweep_file,
)
from harness.records import (
    run_folder as folder,
)
from harness.records.provenance import MadeBy, RunIdentity
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.records.soundness import DAMAGED, NOTE, OK, IntegrityFinding
from harness.utils import safe_text, terminal

SCHEMA = 1
MARKS = ("run.json", "metrics.jsonl")
"""A folder with one of these is a run's, or what is left of one; so is one with our config.yaml."""
WRITTEN = b"schema: "
PARTS = ("checkpoints", "conversations", "simulator", "trackers")
"""Folders of a run, in which there are no runs."""
Check = Callable[[], Iterable[IntegrityFinding]]


def verify(path: Path, *, as_json: bool) -> int:
    """Print the findings on the runs at or below `path`; return the exit code 0, 3 or 65."""
    verified = examine(path)
    if as_json:
        exit_codes.print_json({"schema": SCHEMA, "runs": [run.to_json() for run in verified]})
    elif verified:
        with exit_codes.tolerate_closed_stdout():
            for line in verify_view.lines(
                verified, terminal.width(sys.stdout), terminal.is_coloured(sys.stdout)
            ):
                print(line)
    if not verified:
        rule = "no runs here; must be a run or a folder that contains runs"
        safe_text.say(f"{path}: {rule}")
    return exit_code(verified)


def exit_code(verified: Sequence[RunVerification]) -> int:
    """Return 0 if all runs are whole, 3 if some are, 65 if none is."""
    if verified and all(run.ok for run in verified):
        return 0
    return EXIT_PARTIAL if any(run.ok for run in verified) else DataError.exit_code


def examine(path: Path) -> list[RunVerification]:
    """Return the findings on every run at or below `path`, and on missing runs that a sweep's
    ledger names.

    Links that lead out of `path` are not followed, since a whole disk may be behind one.
    """
    verified: list[RunVerification] = []
    errors: list[OSError] = []
    visited: set[tuple[int, int]] = set()
    top = os.path.realpath(path)
    for folder_name, inner, names in os.walk(path, onerror=errors.append, followlinks=True):
        current = Path(folder_name)
        is_run = any(mark in names for mark in MARKS) or _has_config_of_a_run(current)
        stat = current.stat()
        if (stat.st_dev, stat.st_ino) in visited:  # links may lead round in a circle
            inner.clear()
            continue
        visited.add((stat.st_dev, stat.st_ino))
        left_out = PARTS if is_run else ()
        entries = (
            n for n in inner if n not in left_out and n[0] != "." and _is_within(current / n, top)
        )
        inner[:] = sorted(entries, key=_natural_order)
        if sweep_file.FILE in names:
            verified += _missing_runs(current, inner)
        if is_run:
            verified.append(of_run(current))
    return [*verified, *_unlisted_folders(errors)]


def _has_config_of_a_run(folder: Path) -> bool:
    """Return whether config.yaml was written by `run_folder.create`, not by another program."""
    try:
        with open(folder / "config.yaml", "rb", opener=plain_file.opener) as file:
            return file.read(len(WRITTEN)) == WRITTEN
    except (OSError, ValueError):
        return False


def _is_within(folder: Path, top: str) -> bool:
    """Return whether `folder` is below `top`. A link is resolved first."""
    return not folder.is_symlink() or os.path.realpath(folder).startswith(f"{top.rstrip('/')}/")


def _unlisted_folders(errors: Sequence[OSError]) -> Iterator[RunVerification]:
    for error in errors:
        name = str(error.filename)
        if os.path.isdir(name):  # noqa: PTH112 - of a path that may be no folder at all
            rule = f"{name}: must be a folder that can be listed, but is not: {error.strerror}"
            yield RunVerification(name, None, (IntegrityFinding("folder", DAMAGED, rule),))


def _missing_runs(root: Path, names: Sequence[str]) -> Iterator[RunVerification]:
    """Return the runs that the ledger of a sweep names and whose folders are missing."""
    try:
        sweep = sweep_file.read(root)
    except DataError as error:
        yield RunVerification(str(root), None, (IntegrityFinding("sweep", DAMAGED, str(error)),))
        return
    for row in sweep.runs:
        if row.name not in names:
            rule = f"{root / sweep_file.FILE}: each run must have a folder, {row.name} has none"
            yield RunVerification(
                str(root / row.name), None, (IntegrityFinding("folder", DAMAGED, rule),)
            )


def of_run(path: Path) -> RunVerification:
    """Check each part of the run in `path`. Damage to one part hides no damage to another."""
    run, findings = RunFolder(path), list[IntegrityFinding]()
    status, config = _read(run, findings)
    for part, check in _parts(run, status, config):
        try:
            findings += check()
        except (HarnessError, OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            findings.append(IntegrityFinding(part, DAMAGED, str(error)))
    in_use = holder.holder(run) is not None
    state = status.status if status else None
    state = run_state.CRASHED if run_state.of(run).status == run_state.CRASHED else state
    return RunVerification(str(path), state, tuple(findings), in_use)


def _parts(
    run: RunFolder, status: RunStatus | None, config: RunConfig | None
) -> Iterator[tuple[str, Check]]:
    """Yield each part and its check. If run.json or config.yaml is damaged, yield the parts that
    need neither.
    """
    recorded = status or RunStatus()
    process_id = holder.holder(run)
    if process_id is not None:
        rule = f"{run.path}: in use by process {process_id}; verify it again after that has ended"
        yield "status", lambda: [IntegrityFinding("status", NOTE, rule)]
    yield "rows", lambda: soundness.check_metrics(run, recorded, process_id is not None)
    if process_id is None:  # who writes checkpoints removes the older ones
        yield "checkpoints", lambda: soundness.check_checkpoints(run, recorded, _identity(recorded))
    yield "outcomes", lambda: soundness.check_outcomes(run, recorded)
    yield "conversations", lambda: soundness.check_conversations(run)
    yield "simulator", lambda: _journal(run)
    if status is not None:
        yield (
            "versions",
            lambda: soundness.check_versions(run, status, provenance.current_versions()),
        )
    if status is not None and config is not None:
        yield "config", lambda: soundness.check_config(run, status, config)
        yield "start_model", lambda: _start_model(run, config, status)


def _read(
    run: RunFolder, findings: list[IntegrityFinding]
) -> tuple[RunStatus | None, RunConfig | None]:
    """Read run.json and config.yaml. Return None and a finding for one that cannot be read."""
    status, config = None, None
    try:
        status = run_status.read(run.status)
        findings.append(
            IntegrityFinding("status", OK, f"{status.status}, {status.last_step} steps")
        )
    except HarnessError as error:
        findings.append(IntegrityFinding("status", DAMAGED, str(error)))
    try:
        config = folder.read_config(run)
    except HarnessError as error:
        findings.append(_unread_config(run, status, error))
    return status, config


def _unread_config(
    run: RunFolder, status: RunStatus | None, error: HarnessError
) -> IntegrityFinding:
    """Return the finding on a config that this version cannot read. It is whole if it is unchanged
    since it was planned: then another version wrote it.
    """
    with contextlib.suppress(HarnessError, ValueError, LookupError, TypeError, RecursionError):
        if status and status.config_hash and compatibility.config_change(run, status) is None:
            missing = folder.lacking_plug_ins(run)
            text = (
                "with that plug-in or " if missing else ""
            ) + "by another version of this program"
            rule = f"unchanged since it was planned {text}; a resume without it is refused"
            return IntegrityFinding("config", NOTE, f"{error}: {rule}")
    return IntegrityFinding("config", DAMAGED, str(error))


def _identity(status: RunStatus) -> RunIdentity | None:
    """Return the identity that checkpoints must have, or None if the run does not record one."""
    if not status.config_hash or status.seed is None:
        return None
    made_by = MadeBy(status.versions, status.git)
    return RunIdentity(status.config_hash, status.seed, status.start_model, made_by)


def _start_model(
    run: RunFolder, config: RunConfig, status: RunStatus
) -> Iterator[IntegrityFinding]:
    """Check that a resume would load the model that the run started from."""
    part, policy = "start_model", config.policy
    if policy.kind == "tabular" or (policy.kind == "hf" and policy.init == "random"):
        return
    if status.start_model is None:
        yield IntegrityFinding(part, NOTE, f"{run.status}: has no record of the start model")
        return
    from harness.policy import model_files

    if policy.kind == "hf":
        where, level = model_files.present(policy), DAMAGED
        digest = manifest.digest(where, model_files.model_file_names(where)) if where else None
    else:
        from harness.train.warm_start import start_model

        where, level = start_model.entry(policy), NOTE  # it is built again, the same
        is_complete = os.path.lexists(where) and start_model.problem(where) is None
        digest = start_model.sum_of(where) if is_complete else None
    if digest is None:
        yield IntegrityFinding(
            part, NOTE, f"{where or policy.model}: missing or incomplete, so it was not compared"
        )
    elif digest == status.start_model:
        yield IntegrityFinding(part, OK, "the start model of the run")
    else:
        rule = "must be the start model of the run, but is another"
        yield IntegrityFinding(part, level, f"{where}: {rule}; a resume is refused")


def _journal(run: RunFolder) -> Iterator[IntegrityFinding]:
    """Check each file of answers of a served user."""
    if not run.simulator.is_dir():
        return
    from harness.simulator.served import journal

    paths = sorted(run.simulator.glob("*.jsonl"))
    count = sum(journal.check(path) for path in paths)
    yield IntegrityFinding("simulator", OK, f"{count} answers in {len(paths)} files")


def _natural_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts 2-hard before 10-hard."""
    parts = re.split(r"(\d+)", name)
    return [(int(part) if n % 2 else 0, part) for n, part in enumerate(parts)]
