"""Whether this version of harness can continue what it, or another version, has written.

A run is read by every version: status, fit, verify and view refuse none. To continue it is another
matter. Keys that only a newer version knows would be dropped or disobeyed, and rows of two versions
of the user simulator would not be of one run. Nor does a run continue with a config that was
changed since it was planned.
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

FIRST_SIMULATOR = 1
"""Simulator version of the runs made before run.json recorded one."""


def refuse_newer(run: RunFolder) -> None:
    """Raise VersionError where files of the run hold keys that only a newer version knows, and
    DataError where they cannot be read.
    """
    status = run_status.read(run)
    keys = unknown_keys(run, status)
    if keys:
        raise VersionError(f"{run.path}: {_sentence(keys, MadeBy(status.versions, status.git))}")


def refuse_other_simulator(run: RunFolder, version: int) -> None:
    """Raise VersionError where the rows are of another version of the simulator than this one."""
    status = run_status.read(run)
    written = simulator_of(run, status)
    if written not in (None, version):
        writer = events.writer(run.events, 1, MadeBy(status.versions, status.git))
        raise VersionError(
            f"{run.path}: its rows were made with version {written} of the user simulator, and "
            f"this is version {version}: rows of two versions are not one run; continue it with "
            f"{provenance.named(writer)}, which wrote them"
        )


def simulator_of(run: RunFolder, status: RunStatus) -> int | None:
    """Version of the simulator that the rows of the run are of; None where there are none."""
    if not run.metrics.is_file() or not run.metrics.stat().st_size:
        return None
    return FIRST_SIMULATOR if status.simulator_version is None else status.simulator_version


def unknown_keys(run: RunFolder, status: RunStatus) -> list[str]:
    """`FILE has KEY, KEY` for each file of a run that holds keys of a newer version.

    Raises DataError where run.json or config.yaml cannot be read.
    """
    keys_of = {run.config.name: _of_config(run, status)}
    keys_of[run.status.name] = _beside(_json(run.status), run_status.RunStatus)
    for path in checkpoints.all_in(run.checkpoints):
        keys_of[f"{path.name}/{manifest.NAME}"] = _of_manifest(path)
    return [f"{name} has {_few(keys)}" for name, keys in keys_of.items() if keys]


def _of_config(run: RunFolder, status: RunStatus) -> list[str]:
    """None of a config that was changed since it was planned: its keys are no version's."""
    values = plain_file.yaml_values(run.config)
    keys = config_file.unknown(values) if isinstance(values, dict) else []
    if keys and status.config_hash:
        with contextlib.suppress(TypeError, ValueError, RecursionError):  # what no config holds
            return keys if changed_values(run, status, values) is None else []
    return []


def _of_manifest(checkpoint: Path) -> list[str]:
    """None of a manifest that cannot be read: what is wrong is told where it is loaded."""
    try:
        values = manifest.read(checkpoint)
    except DataError:
        return []
    keys = [key for key in values if key not in manifest.KEYS]
    identity = values.get("identity")
    inner = identity if isinstance(identity, dict) else {}
    return [*keys, *(f"identity.{key}" for key in inner if key not in provenance.KEYS)]


def refuse_newer_sweep(root: Path) -> None:
    """Raise VersionError where sweep.json or study.json holds keys of a newer version: writing it
    again would drop them. Raises DataError where one is there and cannot be read.
    """
    keys = [f"{name} has {_few(unknown)}" for name, unknown in _of_sweep(root) if unknown]
    if keys:
        raise VersionError(f"{root}: {_sentence(keys, _any_writer(root))}")


def _of_sweep(root: Path) -> Iterator[tuple[str, list[str]]]:
    if (root / sweep_file.FILE).is_file():
        values = _json(root / sweep_file.FILE)
        rows = [row for row in values.get("runs") or () if isinstance(row, dict)]
        inner = {f"runs.{key}": 0 for row in rows for key in _beside(row, sweep_file.LedgerRow)}
        yield sweep_file.FILE, [*_beside(values, sweep_file.Sweep), *inner]
    if (root / study_file.FILE).is_file():
        values = _json(root / study_file.FILE)
        stated = values.get("stated")
        inner_keys = _beside(stated, study_file.Stated) if isinstance(stated, dict) else []
        keys = _beside(values, study_file.StudyRecord)
        yield study_file.FILE, [*keys, *(f"stated.{key}" for key in inner_keys)]


def _any_writer(root: Path) -> MadeBy:
    """Versions that a sweep's runs were planned with, from the first that records them."""
    for path in sorted(root.glob("*/run.json")):
        try:
            status = run_status.read(RunFolder(path.parent))
        except DataError:
            continue
        if status.versions:
            return MadeBy(status.versions, status.git)
    return MadeBy({}, "")


def _sentence(keys: list[str], writer: MadeBy) -> str:
    return (
        f"{', '.join(keys)}, which this version ({provenance.named(provenance.now())}) does not "
        f"know; it was planned with {provenance.named(writer)}: continue it with that version"
    )


def _beside(values: Mapping[str, Any], cls: type[Any]) -> list[str]:
    """Keys that the dataclass does not have."""
    fields = {"schema", *(part.name for part in dataclasses.fields(cls))}
    return [key for key in values if key not in fields]


def _few(keys: list[str]) -> str:
    return f"{', '.join(keys[:3])}{f' and {len(keys) - 3} more' if len(keys) > 3 else ''}"


def _json(path: Path) -> dict[str, Any]:
    """Raises DataError where `path` holds no JSON object."""
    try:
        values = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {plain_file.one_line(error)}") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: cannot be read: must be a mapping, got {type(values).__name__}")
    return values


def keys_that_came_later(run: RunFolder) -> list[str]:
    """Dotted keys that the run's config.yaml lacks, since it is older than they are: the run has
    their defaults. Raises DataError for no YAML.
    """
    lacking = config_file.absent(plain_file.yaml_values(run.config))
    return [key for key in lacking if not any(key.startswith(f"{part}.") for part in lacking)]


def changed(run: RunFolder, status: RunStatus) -> str | None:
    """Describe a config that is no longer as planned; None where it is.

    Rows of two configs in one file would pass for one run's. A key that came after the file was
    written changes nothing: the hash is of what the file holds. Raises DataError for no YAML.
    """
    return changed_values(run, status, plain_file.yaml_values(run.config))


def changed_values(run: RunFolder, status: RunStatus, values: Mapping[str, Any]) -> str | None:
    """`changed` for the values in config.yaml. Raises TypeError for what JSON cannot hold."""
    planned = (status.config_hash, status.seed)
    now = (config_file.hash_of(values), values.get("seed"))
    if all(was in ("", None, is_now) for was, is_now in zip(planned, now, strict=True)):
        return None
    return (
        f"{run.config}: must be as it was when the run was planned (hash and seed {planned}, "
        f"got {now}); put it back, or make another run with `harness train --dir`"
    )
