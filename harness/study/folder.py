"""The folder of a study: a sweep over all its arms, and study.json with the statement that was made
before the first run.

To continue a study, it is planned again: existing runs are kept, missing runs are added, and
differences from the first statement are recorded as changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import simulator
from harness.compose.plan import Point
from harness.errors import ConfigError, FolderError, HarnessError
from harness.execution import ledger, sweep_place, user_validity
from harness.records import (
    atomic,
    compatibility,
    config_file,
    holder,
    plain_file,
    provenance,
    run_folder,
    run_status,
    study_file,
    sweep_file,
)
from harness.records.run_folder import RunFolder
from harness.records.study_file import StudyRecord
from harness.records.sweep_file import LedgerRow, Sweep
from harness.study import looks as study_looks
from harness.study.arms import IMPLIED, PlannedStudy, run_identity

LONGEST = 400
"""Maximal length of a value in a sentence about a change."""


def default(planned: PlannedStudy) -> Path:
    """Return runs/study-NAME-HASH, with a hash of the overrides. Seeds are not part of it, so that
    they can be added to the same study.
    """
    text = json.dumps(sorted(planned.overrides))
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return sweep_place.runs_folder().resolve() / f"study-{planned.name}-{digest}"


def create_or_complete(planned: PlannedStudy, root: Path) -> StudyRecord:
    """Create or complete the study in `root`: plan its runs, write the ledger and study.json.

    Raises ConfigError if `root` holds something else, FolderError, StoppedError if a live process
    executes the study.
    """
    previous = existing(planned, root)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{root}: {error.strerror or error}") from error
    with holder.hold(RunFolder(root)):
        compatibility.refuse_newer_sweep(root)
        record = _record(planned, previous, root)
        study_file.write(root, record)
        points, made_by = _points_by_name(planned, record), provenance.current_versions()
        for name, point in points.items():
            if not RunFolder(root / name).is_run():
                validity = user_validity.record(point.config)
                run_folder.create(RunFolder(root / name), point.config, validity, made_by)
        sweep_file.write(root, _sweep(planned, root, record, points))
    return record


def existing(planned: PlannedStudy, root: Path) -> StudyRecord | None:
    """Read the study in `root`; None if the folder is missing or empty.

    Raises ConfigError if it holds anything else.
    """
    if not root.exists():
        return None
    if not root.is_dir():
        raise ConfigError(f"--dir: must name an existing or new folder, got {str(root)!r}")
    if (root / study_file.FILE).is_file():
        record = study_file.read(root)
        if record.study != planned.name:
            rule = f"holds the study {record.study}, not {planned.name}; name another folder"
            raise ConfigError(f"--dir: {rule}, got {str(root)!r}")
        return record
    names = [path.name for path in root.iterdir() if not _is_left_over(path.name)]
    if names:
        rule = f"must be empty or hold this study; found {sorted(names)[0]!r} in {str(root)!r}"
        raise ConfigError(f"--dir: {rule}")
    return None


def _is_left_over(name: str) -> bool:
    """Whether a command that was killed before study.json was there may have left this file."""
    return name in (".lock", ".holder") or atomic.TEMPORARY.fullmatch(name) is not None


def has_implied_keys(record: StudyRecord) -> bool:
    """Whether a study was started with the overrides in IMPLIED.

    Studies of older versions were not. They continue without them, since with them all of their
    runs would be new ones.
    """
    keys = {word.partition("=")[0] for word in record.stated["words"]}
    return all(word.partition("=")[0] in keys for word in IMPLIED)


def count_done(planned: PlannedStudy, root: Path) -> int:
    """Return the number of planned runs that are done."""
    previous = existing(planned, root)
    names = _names_of_runs(planned, root, previous).values() if previous else ()
    return sum(_is_done(root, name) for name in names)


def changes(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the differences between two statements, one sentence each."""
    sentences: list[str] = []
    for key in dict.fromkeys([*now, *before]):
        path = f"{prefix}.{key}" if prefix else key
        old, new = before.get(key), now.get(key)
        if key not in before:
            sentences.append(f"{path}: added, {_format_value(new)}")
        elif key not in now:
            sentences.append(f"{path}: removed, was {_format_value(old)}")
        elif isinstance(old, dict) and isinstance(new, dict):
            sentences += changes(old, new, path)
        elif old != new:
            sentences.append(f"{path}: {_format_value(old)} became {_format_value(new)}")
    return sentences


def without_implied(statement: Mapping[str, Any]) -> dict[str, Any]:
    """Remove `deciding` if it lists all links, as it does by default, and `most_seeds` if it is not
    stated, which older versions did not have.
    """
    implied = {"deciding"} if list(statement["deciding"]) == list(statement["links"]) else set()
    if statement.get("most_seeds") is None:
        implied.add("most_seeds")
    return {key: value for key, value in statement.items() if key not in implied}


def _names_of_runs(
    planned: PlannedStudy, root: Path, record: StudyRecord
) -> dict[tuple[str, int], str]:
    """Return (hash, seed) -> name for each planned run that the folder contains.

    A run of a version with fewer config keys counts as the run that this version would plan. Of two
    equal runs, one that is done is preferred, else the first.
    """
    distinct, names = planned.distinct(), dict[tuple[str, int], str]()
    for name, (config, seed) in record.runs.items():
        run = RunFolder(root / name)
        key = (config, seed) if (config, seed) in distinct else _current_identity(run)
        if key in distinct and (
            key not in names or _is_done(root, name) > _is_done(root, names[key])
        ):
            names[key] = name
    return names


def _current_identity(run: RunFolder) -> tuple[str, int] | None:
    """Return the hash and seed with which this version would plan the run; None if its files cannot
    be read, its config was changed, or another simulator version made its rows.
    """
    try:
        status, values = run_status.read(run.status), plain_file.yaml_values(run.config)
        if compatibility.values_change(run, status, values) is not None:
            return None
        if compatibility.simulator_of(run, status) not in (None, simulator.VERSION):
            return None
        config = config_file.from_dict(values)
    except (HarnessError, AttributeError, TypeError, ValueError, RecursionError):
        return None  # reported when the run is started
    return config_file.config_hash(config), config.seed


def _is_done(root: Path, name: str) -> bool:
    return ledger.with_current_status(LedgerRow(name, str(root / name), ())).status == "done"


def _record(planned: PlannedStudy, previous: StudyRecord | None, root: Path) -> StudyRecord:
    statement = study_file.to_plain(planned.stated)
    runs: dict[str, Any] = dict(previous.runs) if previous else {}
    names = _names_of_runs(planned, root, previous) if previous else {}
    for key, (arm, point) in planned.distinct().items():
        if key not in names:
            names[key] = f"{len(runs)}-{arm}-seed{point.config.seed}"
            runs[names[key]] = list(key)
    arms = {
        arm: {str(seed): names[run_identity(point)] for seed, point in points.items()}
        for arm, points in planned.points.items()
    }
    first = previous.stated if previous else statement
    changed = (
        [*previous.changed, *changes(without_implied(first), without_implied(statement))]
        if previous
        else []
    )
    looks = study_looks.earlier_looks(root, previous) if previous else []
    return StudyRecord(planned.name, first, list(dict.fromkeys(changed)), arms, runs, looks)


def _points_by_name(planned: PlannedStudy, record: StudyRecord) -> dict[str, Point]:
    """Return name -> point for every run of the current statement."""
    points = {key: point for key, (_, point) in planned.distinct().items()}
    return {
        name: points[config, seed]
        for name, (config, seed) in record.runs.items()
        if (config, seed) in points
    }


def _sweep(
    planned: PlannedStudy, root: Path, record: StudyRecord, points: Mapping[str, Point]
) -> Sweep:
    """Return the ledger of all runs, including those of earlier statements."""
    rows = {name: _planned_row(name, root, point) for name, point in points.items()}
    if (root / sweep_file.FILE).is_file():
        rows = {**{row.name: row for row in ledger.read(root).runs}, **_unplanned_rows(rows, root)}
    axes = {"seed": list(planned.stated.seeds)}
    return Sweep(
        str(root), axes, [rows[name] for name in record.runs if name in rows], planned.launcher
    )


def _planned_row(name: str, root: Path, point: Point) -> LedgerRow:
    planned_hash = config_file.choices_hash(point.config)
    return LedgerRow(name, str(root / name), point.overrides, planned_hash=planned_hash)


def _unplanned_rows(rows: Mapping[str, LedgerRow], root: Path) -> dict[str, LedgerRow]:
    recorded = {row.name for row in ledger.read(root).runs}
    return {name: row for name, row in rows.items() if name not in recorded}


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{key} {_format_value(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        separator = ", " if any(" " in str(item) for item in value) else " "
        value = separator.join(map(str, value)) or "nothing"
    text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
