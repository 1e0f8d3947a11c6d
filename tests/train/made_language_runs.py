"""Runs of the smallest language model, in this process."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.config.curriculum import CurriculumConfig
from harness.config.run import AlgorithmConfig, PolicyConfig, RunConfig, TrainerConfig
from harness.records.run_folder import RunFolder
from tests.train.made import (
    go_on,
    make_run,
    short,
)

SMOKE = PolicyConfig(
    name="tiny_smoke", hidden_size=48, layers=2, attention_heads=2, vocabulary=1200,
    warm_start_copy_steps=0, warm_start_steps=180, warm_start_learning_rate=2e-2,
)  # fmt: skip


STEPS = 4


TURNS = 2


SHORT = short(TURNS)


ADAPTIVE = CurriculumConfig(name="adaptive", kind="adaptive", target=0.0)


def config(algorithm: Mapping[str, Any] | None = None, **trainer: Any) -> RunConfig:
    return RunConfig(
        difficulty=SHORT.easy,
        levels=SHORT,
        curriculum=ADAPTIVE,
        policy=SMOKE,
        algorithm=AlgorithmConfig(**({"group_size": 4} | dict(algorithm or {}))),
        trainer=TrainerConfig(
            **(
                {
                    "steps": STEPS,
                    "conversations": 8,
                    "eval_every": 1000,
                    "checkpoint_every": 2,
                    "grace_s": 3600.0,  # a run in this process would take it along
                }
                | trainer
            )
        ),
    )


def run_here(path: Path, config: RunConfig, stop_after: int | None = None) -> RunFolder:
    """A run in this process; with `stop_after` a stop is requested when that row is durable."""
    run = make_run(path, config)
    go_on(run, stop_after)
    return run


def rows_of(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]
