"""Whether this version of harness can continue a run that it or another version has written.

Every version can read every run: status, fit, verify and view refuse none. Continuing a run is
stricter. Keys that only a newer version knows would be dropped or ignored, rows made with two
versions of the user simulator do not belong to one run, and a config that was changed since the
run was planned describes another run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import DataError, VersionError
from harness.records import (
    checkpoints,
    config_file,
    events,
    manifest,
    plain_file,
    provenance,
    run_status,
    study_file,
    sweep_file,
)
from harness.records.provenance import MadeBy
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus

RESTORE = "restore it, or start another run with `harness train --dir`"
FIRST_SIMULATOR = 1
"""Simulator version of runs made before run.json recorded it."""


def refuse_newer(run: RunFolder) -> None:
    """Raise VersionError if files of the run contain keys that only a newer version knows, and
    DataError if they cannot be read.
    """
    status = run_status.read(run.status)
    keys = unknown_keys(run, status)
    if keys:
        raise VersionError(f"{run.path}: {_sentence(keys, MadeBy(status.versions, status.git))}")


def refuse_other_simulator(run: RunFolder, version: int) -> None:
    """Raise VersionError if the rows were made with another simulator version than `version`."""
    status = run_status.read(run.status)
    written = simulator_of(run, status)
    if written not in (None, version):
        writer = events.writer(run.events, 1, MadeBy(status.versions, status.git))
        raise VersionError(
            f"{run.path}: its rows were made with version {written} of the user simulator, and "
            f"this is version {version}: rows of two versions are not one run; continue it with "
            f"{provenance.describe_versions(writer)}, which wrote them"
        )


def simulator_of(run: RunFolder, status: RunStatus) -> int | None:
    """Return the simulator version that the rows were made with; None if there are no rows."""
    if not run.metrics.is_file() or not run.metrics.stat().st_size:
        return None
    return FIRST_SIMULATOR if status.simulator_version is None else status.simulator_version


def unknown_keys(run: RunFolder, status: RunStatus) -> list[str]:
    """Return `FILE has KEY, KEY` for each file of a run that contains keys of a newer version.

    Raises DataError if run.json or config.yaml cannot be read.
    """
    keys_of = {run.config.name: _unknown_config_keys(run, status)}
    keys_of[run.status.name] = _unknown_fields(_json(run.status), run_status.RunStatus)
    for path in checkpoints.all_in(run.checkpoints):
        keys_of[f"{path.name}/{manifest.NAME}"] = _unknown_manifest_keys(path)
    return [f"{name} has {_list_first(keys)}" for name, keys in keys_of.items() if keys]


def _unknown_config_keys(run: RunFolder, status: RunStatus) -> list[str]:
    """Return unknown keys, but none if the config was edited: no newer version wrote those."""
    values = plain_file.yaml_values(run.config)
    keys = config_file.unknown_keys(values) if isinstance(values, dict) else []
    if keys and status.config_hash:
        with contextlib.suppress(TypeError, ValueError, RecursionError):  # not JSON: edited too
            return keys if values_change(run, status, values) is None else []
    return []


def _unknown_manifest_keys(checkpoint: Path) -> list[str]:
    """Return unknown keys; none if the manifest is unreadable, which loading it will report."""
    try:
        values = manifest.read(checkpoint)
    except DataError:
        return []
    keys = [key for key in values if key not in manifest.KEYS]
    identity = values.get("identity")
    inner = identity if isinstance(identity, dict) else {}
    return [*keys, *(f"identity.{key}" for key in inner if key not in provenance.KEYS)]


def refuse_newer_sweep(root: Path) -> None:
    """Raise VersionError if sweep.json or study.json contains keys of a newer version, since
    rewriting the file would drop them. Raise DataError if an existing one cannot be read.
    """
    keys = [
        f"{name} has {_list_first(unknown)}"
        for name, unknown in _unknown_sweep_keys(root)
        if unknown
    ]
    if keys:
        raise VersionError(f"{root}: {_sentence(keys, _any_writer(root))}")


def _unknown_sweep_keys(root: Path) -> Iterator[tuple[str, list[str]]]:
    if (root / sweep_file.FILE).is_file():
        values = _json(root / sweep_file.FILE)
        runs = values.get("runs")
        rows = [row for row in runs if isinstance(row, dict)] if isinstance(runs, list) else []
        inner = {
            f"runs.{key}": 0 for row in rows for key in _unknown_fields(row, sweep_file.LedgerRow)
        }
        yield sweep_file.FILE, [*_unknown_fields(values, sweep_file.Sweep), *inner]
    if (root / study_file.FILE).is_file():
        values = _json(root / study_file.FILE)
        stated = values.get("stated")
        inner_keys = (
            _unknown_fields(stated, study_file.StudyStatement) if isinstance(stated, dict) else []
        )
        keys = _unknown_fields(values, study_file.StudyRecord)
        yield study_file.FILE, [*keys, *(f"stated.{key}" for key in inner_keys)]


def _any_writer(root: Path) -> MadeBy:
    """Return the versions that a sweep's runs were planned with, from the first with a record."""
    for path in sorted(root.glob("*/run.json")):
        try:
            status = run_status.read(RunFolder(path.parent).status)
        except DataError:
            continue
        if status.versions:
            return MadeBy(status.versions, status.git)
    return MadeBy({}, "")


def _sentence(keys: list[str], writer: MadeBy) -> str:
    this_version = provenance.describe_versions(provenance.current_versions())
    planned_version = provenance.describe_versions(writer)
    return (
        f"{', '.join(keys)}, which this version ({this_version}) does not know; "
        f"it was planned with {planned_version}: continue it with that version"
    )


def _unknown_fields(values: Mapping[str, Any], cls: type[Any]) -> list[str]:
    """Return the keys that are not fields of the dataclass."""
    fields = {"schema", *(part.name for part in dataclasses.fields(cls))}
    return [key for key in values if key not in fields]


def _list_first(keys: list[str]) -> str:
    return f"{', '.join(keys[:3])}{f' and {len(keys) - 3} more' if len(keys) > 3 else ''}"


def _json(path: Path) -> dict[str, Any]:
    """Read the JSON object in `path`. Raises DataError if it is not one."""
    try:
        values = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {plain_file.one_line(error)}") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: cannot be read: must be a mapping, got {type(values).__name__}")
    return values


def keys_that_came_later(run: RunFolder) -> list[str]:
    """Return the dotted keys that were added after the run's config.yaml was written.

    The run uses their defaults. Raises DataError if the file is not YAML.
    """
    lacking = config_file.missing_keys(plain_file.yaml_values(run.config))
    return [key for key in lacking if not any(key.startswith(f"{parent}.") for parent in lacking)]


def config_change(run: RunFolder, status: RunStatus) -> str | None:
    """Describe how config.yaml differs from the planned config; None if it does not.

    Rows of two configs in one file would look like those of one run. Keys added to harness since
    do not matter: the hash covers the keys in the file. Raises DataError if the file is not YAML.
    """
    values = plain_file.yaml_values(run.config)
    try:
        return values_change(run, status, values)
    except (TypeError, ValueError, RecursionError):  # such as a date: no run writes one
        rule = "must be as it was when the run was planned"
        return f"{run.config}: {rule}, got a value that no config has, such as a date; {RESTORE}"


def values_change(run: RunFolder, status: RunStatus, values: Mapping[str, Any]) -> str | None:
    """`config_change` for values of config.yaml. Raises TypeError for values that are not JSON."""
    planned = (status.config_hash, status.seed)
    now = (config_file.hash_of(values), values.get("seed"))
    if all(
        planned_value in ("", None, value)
        for planned_value, value in zip(planned, now, strict=True)
    ):
        return None
    return (
        f"{run.config}: must be as it was when the run was planned (hash and seed {planned}, "
        f"got {now}); {RESTORE}"
    )
