"""The folder of one run: its paths, its creation, and its config.

    config.yaml      the resolved RunConfig          run.json         status, measurement card
    metrics.jsonl    one row per step, reproducible  events.jsonl     wall clock, phases, resumes
    conversations/   every turn, parquet             checkpoints/     complete, with a manifest
    outcomes.json    outcome of each conversation of the last evaluation
    train.log        the child process's output, in a sweep
    debug.log        tracebacks of unexpected errors
    simulator/       answers of a served user, by step
    profiles.jsonl   copy of simulator.profiles from when the run was planned
    trackers/        local files of the trackers in trainer.report_to

A folder is a run once it contains run.json, which is written after config.yaml.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.errors import ConfigError, DataError, FolderError
from harness.records import (
    atomic,
    config_file,
    holder_file,
    plain_file,
    provenance,
    run_lock,
    run_status,
)
from harness.records.provenance import MadeBy
from harness.records.run_status import RunStatus


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run. Creating the object touches nothing."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def status(self) -> Path:
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def outcomes(self) -> Path:
        return self.path / "outcomes.json"

    @property
    def conversations(self) -> Path:
        return self.path / "conversations"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def simulator(self) -> Path:
        return self.path / "simulator"

    @property
    def trackers(self) -> Path:
        return self.path / "trackers"

    @property
    def profiles(self) -> Path:
        return self.path / "profiles.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "train.log"

    @property
    def holder(self) -> Path:
        return self.path / holder_file.NAME

    def is_run(self) -> bool:
        return self.status.is_file()


OWN_LEFTOVER = re.compile(
    r"config\.yaml|profiles\.jsonl|train\.log|debug\.log|events\.jsonl|\.lock|\.holder"
    rf"|\.(config\.yaml|profiles\.jsonl|run\.json|\.holder){atomic.TAIL}"
)
"""Files that a start killed before run.json can leave. All others are foreign."""


def create(
    folder: RunFolder,
    config: RunConfig,
    validity: Mapping[str, Any] | None = None,
    made_by: MadeBy | None = None,
) -> None:
    """Create a planned run in `folder`. `validity`: of its users, as stored in run.json; `made_by`:
    the current versions, for a caller who creates many runs, since finding them takes a while.

    Raises ConfigError if the folder already holds a run or foreign files, FolderError if it cannot
    be created, DataError if simulator.profiles cannot be read.
    """
    names = refuse_others(folder)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name not in (run_lock.NAME, folder.holder.name):  # this process may hold them
                (folder.path / name).unlink()
        atomic.write_text(folder.config, config_file.to_yaml(config_file.to_dict(config)))
        if config.simulator.profiles:
            atomic.write_text(folder.profiles, plain_file.text(Path(config.simulator.profiles)))
    except OSError as error:
        raise FolderError(f"{folder.path}: {error.strerror or error}") from error
    made_by = made_by or provenance.current_versions()
    run_status.write(
        folder.status,
        RunStatus(
            config_hash=config_file.config_hash(config),
            seed=config.seed,
            versions=made_by.versions,
            git=made_by.git,
            validity=validity,
        ),
    )


def refuse_others(folder: RunFolder) -> list[str]:
    """Return the leftovers of a killed start. Raises ConfigError for a run or foreign files."""
    if folder.is_run():
        raise ConfigError(f"{folder.path}: already holds a run; continue it with `harness resume`")
    names = sorted(_names(folder.path))
    foreign = [name for name in names if not OWN_LEFTOVER.fullmatch(name)]
    if foreign:
        raise ConfigError(f"{folder.path}: a run needs an empty folder, found {foreign[0]!r}")
    return names


def read_config(folder: RunFolder) -> RunConfig:
    """Read config.yaml. Raises DataError if it is missing or not YAML, ConfigError if not valid.

    The ConfigError names the plug-ins that the run was planned with and that are not installed.
    """
    values = plain_file.yaml_values(folder.config)
    if not isinstance(values, dict):
        raise DataError(f"{folder.config}: must hold a mapping, got {type(values).__name__}")
    try:
        return config_file.from_dict(values, where=str(folder.config))
    except ConfigError as error:
        lacking = lacking_plug_ins(folder)
        if not lacking:
            raise
        rule = f"planned with {', '.join(lacking)}, which is not installed here"
        raise ConfigError(f"{error}; {rule}") from error


def lacking_plug_ins(folder: RunFolder) -> tuple[str, ...]:
    """Name and version of each plug-in that the run was planned with and that is not installed."""
    try:
        return provenance.lacking_plug_ins(run_status.read(folder.status).versions)
    except DataError:
        return ()


def planned_steps(folder: RunFolder) -> int:
    """Return trainer.steps, or 0 if config.yaml does not say. Works for configs of any version.

    Raises DataError if config.yaml is missing or is not YAML.
    """
    values = plain_file.yaml_values(folder.config)
    trainer = values.get("trainer") if isinstance(values, dict) else None
    steps = trainer.get("steps") if isinstance(trainer, dict) else None
    return steps if type(steps) is int else 0


def read_own_config(folder: RunFolder) -> RunConfig:
    """Read the config, with `simulator.profiles` set to the run's own copy."""
    config = read_config(folder)
    if not config.simulator.profiles:
        return config
    simulator = dataclasses.replace(config.simulator, profiles=str(folder.profiles))
    return dataclasses.replace(config, simulator=simulator)


def refuse_links(folder: RunFolder) -> None:
    """Raise DataError if a path that a run writes is a link, which may lead to foreign files."""
    paths = (folder.metrics, folder.events, folder.checkpoints, folder.conversations)
    for path in (*paths, folder.simulator, folder.trackers, folder.log, folder.outcomes):
        plain_file.refuse_link(path)


def _names(path: Path) -> list[str]:
    try:
        return [p.name for p in path.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror or error}") from error
