"""Finds the source of an export: a run of a language model and one verified checkpoint of it."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ConfigError
from harness.records import run_folder, trained_run
from harness.records.run_folder import RunFolder
from harness.records.trained_run import TrainedRun as Source

__all__ = ["Source", "find"]


def find(folder: Path, step: int | None) -> Source:
    """Return the run in `folder` and its checkpoint of `step`, by default the newest undamaged one.

    Raises ConfigError for a tabular policy, which has no weights for other programs; otherwise
    raises as `trained_run.find` does.
    """
    run = RunFolder(folder)
    if run_folder.read_config(run).policy.kind == "tabular":
        rule = "must be that of a language model, tiny or hf, for weights that other programs load"
        raise ConfigError(f"{run.config}: policy.kind {rule}, got tabular")
    return trained_run.find(folder, step)
