"""One run's folder: its paths, its status and its lock.

    config.yaml      the resolved RunConfig          run.json         status, measurement card
    metrics.jsonl    one row a step, deterministic   events.jsonl     wall clock, phases, resumes
    conversations/   every turn, parquet             checkpoints/     whole or absent, with manifest
    outcomes.json    each conversation of the last evaluation
    train.log        the child's output, in a sweep
    debug.log        tracebacks of what failed unexpectedly
    simulator/       what a served user answered, by step
    profiles.jsonl   simulator.profiles as they were when the run was planned
    trackers/        what trainer.report_to keeps of the run

A folder is a run once run.json is there; it is renamed into place after config.yaml.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.config.run import SCHEMA, RunConfig
from harness.errors import ConfigError, DataError, FolderError, StoppedError
from harness.records import atomic, config_file, holder_file, plain_file, provenance, run_lock
from harness.utils import shape

ENDED = ("done", "failed", "stopped")
STATUSES = ("planned", "running", *ENDED)


CAME_LATER = ("seed", "start_model", "simulator_version", "rows", "validity", "stopped_by_rule")
"""Keys of run.json that runs of older versions lack."""


@dataclass(frozen=True)
class RunStatus:
    """run.json: where a run stands, and how its numbers were measured."""

    status: str = "planned"
    reason: str | None = None
    exit_code: int | None = None
    last_step: int = 0
    attempts: int = 0
    config_hash: str = ""
    """Hash of everything but the seed."""
    seed: int | None = None
    measurement: Mapping[str, Any] = field(default_factory=dict)
    """The measurement card: what H and R were taken over. Runs with unlike cards are not pooled."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions the run was planned with; events.jsonl has those of each attempt."""
    git: str = ""
    start_model: str | None = None
    """sha256 of the model that the policy starts from, once it was loaded; None for tabular."""
    simulator_version: int | None = None
    """harness.simulator.VERSION of the rows; None before the first, and of older versions' runs,
    which are of version 1."""
    rows: Mapping[str, str] | None = None
    """RowSums of the rows up to last_step; None before the first, and of older versions' runs."""
    validity: Mapping[str, Any] | None = None
    """records.validity of the levels that the run trains on; None of older versions' runs."""
    stopped_by_rule: Mapping[str, Any] | None = None
    """`rule` and `step` at which trainer.stop_when ended the run; None where it never did."""
    schema: int = SCHEMA

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do: not so of a run that its rule ended, which may go on."""
        return self.status == "done" and self.ended_by_rule is None

    @property
    def ended_by_rule(self) -> int | None:
        """The step at which trainer.stop_when ended the run; None where it never did, where the
        run went on since, and where the record names no step.
        """
        step = (self.stopped_by_rule or {}).get("step")
        ended = self.status == "done" and isinstance(step, int) and self.last_step <= step
        return self.last_step if ended else None

    def to_json(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        return {"schema": values.pop("schema"), **values}


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
"""Files that a start may leave that died before run.json; any other is somebody's."""


def create(folder: RunFolder, config: RunConfig, validity: Mapping[str, Any] | None = None) -> None:
    """Make `folder` a planned run; `validity`: that of its users, as run.json keeps it.

    Raises ConfigError if it already holds a run or somebody's files, FolderError if it cannot
    be made, DataError if simulator.profiles cannot be read.
    """
    names = refuse_others(folder)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name not in (run_lock.NAME, folder.holder.name):  # ours, if it is we who hold them
                (folder.path / name).unlink()
        text = yaml.safe_dump(config_file.to_dict(config), sort_keys=False, allow_unicode=True)
        atomic.write_text(folder.config, text)
        if config.simulator.profiles:
            atomic.write_text(folder.profiles, plain_file.text(Path(config.simulator.profiles)))
    except OSError as error:
        raise FolderError(f"{folder.path}: {error.strerror or error}") from error
    made_by = provenance.now()
    write_status(
        folder,
        RunStatus(
            config_hash=config_file.config_hash(config),
            seed=config.seed,
            versions=made_by.versions,
            git=made_by.git,
            validity=validity,
        ),
    )


def refuse_others(folder: RunFolder) -> list[str]:
    """List what a start that died has left. Raises ConfigError for a run, or for others' files."""
    if folder.is_run():
        raise ConfigError(f"{folder.path}: already holds a run; continue it with `harness resume`")
    names = sorted(_names(folder.path))
    foreign = [name for name in names if not OWN_LEFTOVER.fullmatch(name)]
    if foreign:
        raise ConfigError(f"{folder.path}: a run needs an empty folder, found {foreign[0]!r}")
    return names


def read_config(folder: RunFolder) -> RunConfig:
    """Raises DataError if config.yaml is missing or is not YAML, ConfigError if it is not valid.

    That message names the plug-ins that the run was planned with and that are not installed.
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
        rule = f"planned with {', '.join(lacking)}, not installed here"
        raise ConfigError(f"{error}; {rule}") from error


def lacking_plug_ins(folder: RunFolder) -> tuple[str, ...]:
    """Name and version of each plug-in that the run was planned with and is not installed."""
    try:
        return provenance.lacking_plug_ins(read_status(folder).versions)
    except DataError:
        return ()


def planned_steps(folder: RunFolder) -> int:
    """trainer.steps, also of a config that only another version can read; 0 where it is not told.

    Raises DataError if config.yaml is missing or is not YAML.
    """
    values = plain_file.yaml_values(folder.config)
    trainer = values.get("trainer") if isinstance(values, dict) else None
    steps = trainer.get("steps") if isinstance(trainer, dict) else None
    return steps if type(steps) is int else 0


def read_own_config(folder: RunFolder) -> RunConfig:
    """`read_config`, with the run's own copy of simulator.profiles: the run needs no other."""
    config = read_config(folder)
    if not config.simulator.profiles:
        return config
    simulator = dataclasses.replace(config.simulator, profiles=str(folder.profiles))
    return dataclasses.replace(config, simulator=simulator)


def read_status(folder: RunFolder) -> RunStatus:
    """Raises DataError if run.json is missing or malformed; a later version's keys are let pass."""
    content = plain_file.text(folder.status)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        why = plain_file.one_line(error)
        raise DataError(f"{folder.status}: cannot be read: {why}") from error
    if isinstance(values, dict):
        for key in CAME_LATER:
            values.setdefault(key, None)
    problem = shape.problem(RunStatus, values)
    if problem:
        raise DataError(f"{folder.status}: cannot be read: {problem}")
    if values["status"] not in STATUSES:
        rule = f"status must be one of {', '.join(STATUSES)}, got {values['status']!r}"
        raise DataError(f"{folder.status}: cannot be read: {rule}")
    return RunStatus(**{f.name: values[f.name] for f in dataclasses.fields(RunStatus)})


def write_status(folder: RunFolder, status: RunStatus) -> None:
    atomic.write_json(folder.status, status.to_json())


def take(folder: RunFolder) -> int:
    """Become the folder's only writer: the descriptor of its lock, which may be handed on.

    Raises StoppedError, naming the holder, if a live process holds it, StorageError.
    """
    plain_file.refuse_link(folder.path)
    with atomic.storage(folder.path / run_lock.NAME):
        descriptor = run_lock.acquire(folder.path, run_lock.ASKING_S)
    if descriptor is None:
        recorded = holder_file.read(folder.path)
        raise StoppedError(f"{folder.path}: held by process {recorded or holder_file.UNNAMED}")
    other = holder_file.beside(folder.path, folder.metrics)
    if other is not None:
        os.close(descriptor)
        raise StoppedError(f"{folder.path}: held by process {other}")
    for path in (folder.path, folder.conversations, folder.simulator, folder.trackers):
        atomic.clear(path)  # what killed writers have left
    with atomic.storage(folder.path):
        me = holder_file.this_process(folder.path)
    atomic.write_text(folder.holder, me.to_text())
    return descriptor


@contextlib.contextmanager
def hold(folder: RunFolder, taken: int | None = None) -> Iterator[None]:
    """Be the folder's only writer meanwhile; `taken`: by the lock of that descriptor.

    The kernel frees the lock with the process, however it ends. Raises what `take` raises.
    """
    descriptor = take(folder) if taken is None else taken
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # who died holding it leaves as much
            folder.holder.unlink(missing_ok=True)
        os.close(descriptor)


def refuse_links(folder: RunFolder) -> None:
    """Raise DataError for a link among what a run writes: others' files may be behind it."""
    written = (folder.metrics, folder.events, folder.checkpoints, folder.conversations)
    for path in (*written, folder.simulator, folder.trackers, folder.log, folder.outcomes):
        plain_file.refuse_link(path)


def _names(path: Path) -> list[str]:
    try:
        return [p.name for p in path.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror or error}") from error
