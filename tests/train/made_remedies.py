"""Stacks of one remedy, their rows, and what is refused of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.run import RemedyConfig
from harness.errors import ConfigError
from harness.records.run_folder import RunFolder
from harness.train.policy_gradient.remedy_roles import StepTokens
from tests.train.made import make_run, short, tabular


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", *words])
    return str(error.value)


def made_of(path: Path, remedy: RemedyConfig, steps: int, group_size: int = 8) -> RunFolder:
    """A short tabular run, not begun."""
    levels, algorithm = short(2), {"group_size": group_size}
    config = tabular(
        levels.medium, algorithm=algorithm, conversations=8, eval_every=1000, steps=steps
    )
    return make_run(path, replace(config, levels=levels, remedy=remedy))


def rows_of(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def step(count: int, seed: int = 0, spread: float = 1.0) -> StepTokens:
    rng = np.random.default_rng(seed)
    return StepTokens(
        logp=-rng.exponential(1.0, count),
        advantage=rng.normal(0.3, spread, count),
        entropy_nats=rng.exponential(0.5, count),
        start_logp=-rng.exponential(1.0, count),
        rng=np.random.default_rng([seed, 3]),
    )


def gradient_of(model: Any, loss: torch.Tensor) -> list[torch.Tensor]:
    """Of a loss computed by hand."""
    model.zero_grad()
    torch.autograd.backward(loss)
    return [p.grad.clone() for p in model.parameters()]
