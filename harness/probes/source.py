"""Where a policy that is asked comes from: the checkpoints of a run, and what it began with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.config.run import RunConfig
from harness.probes.results import START
from harness.records import run_folder, trained_run
from harness.records.run_folder import RunFolder
from harness.records.trained_run import TrainedRun


@dataclass(frozen=True)
class Source:
    """A policy with fixed weights, not yet loaded."""

    config: RunConfig
    where: Path
    """The file that the config stands in."""
    weights: Path | None
    """What a checkpoint saved of the policy; None for what its run began with."""
    step: int
    start_model: str | None = None
    """sha256 of the model that its run began with, where it is recorded."""

    @property
    def start(self) -> Source:
        """What its run began with."""
        return replace(self, weights=None, step=START)


def of(folder: Path, step: int | None) -> Source:
    """The policy of a run at a step, by default the last one that was saved whole.

    Raises ConfigError and DataError as `trained_run.find` does.
    """
    return _of_run(trained_run.find(folder, step))


def every(folder: Path) -> list[Source]:
    """Each checkpoint of a run that was kept, the earliest first. Raises as `of` does."""
    return [_of_run(one) for one in trained_run.every(folder)]


def config_of(folder: Path) -> tuple[RunConfig, Path]:
    """The config of a run, and the file that it stands in. Raises DataError, ConfigError."""
    run = RunFolder(folder)
    return run_folder.read_config(run), run.config


def _of_run(one: TrainedRun) -> Source:
    weights = one.checkpoint.path if one.config.policy.kind == "tabular" else one.files
    return Source(one.config, one.run.config, weights, one.checkpoint.step, one.status.start_model)
