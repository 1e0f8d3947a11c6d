"""A policy out of a run, of whatever kind its config says."""

from __future__ import annotations

from pathlib import Path

from harness.config.run import RunConfig
from harness.train.saved_policy.policy import SavedPolicy
from harness.train.saved_policy.tabular import SavedTabular


def load(config: RunConfig, weights: Path | None, start_sum: str | None) -> SavedPolicy:
    """A policy with the weights of a run's checkpoint, or with None those that the run began with.

    `weights`: of a language model the folder that the libraries saved, of a tabular policy the
    checkpoint.
    `start_sum`: the sha256 of the run's start model, None where none is recorded. Raises
    ConfigError if the start model cannot be had or is another, and for what is no checkpoint of
    this policy.
    """
    if config.policy.kind == "tabular":
        return SavedTabular.of(config, weights)
    from harness.train.saved_policy.language import SavedModel  # torch

    return SavedModel.of(config, weights, start_sum)
