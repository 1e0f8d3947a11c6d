"""Trained runs that probes are asked of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.config.run import PolicyConfig, RunConfig
from harness.probes import ask, registry
from harness.probes.results import ProbeResult
from harness.records.run_folder import RunFolder
from tests.train.made import FEW, go_on, make_run

STEPS = 4


LORA = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, attention_heads=2, layers=2,
    vocabulary=600, lora_rank=4, max_turn_tokens=8,
)  # fmt: skip


def evaluated_each_step(config: RunConfig) -> RunConfig:
    trainer = replace(config.trainer, steps=STEPS, eval_every=1, checkpoint_every=2, keep_every=2)
    return replace(config, trainer=trainer)


def trained(folder: Path, config: RunConfig) -> RunFolder:
    run = make_run(folder, evaluated_each_step(config))
    code, _, err = go_on(run)
    assert code == 0, err
    return run


def probed(run: RunFolder, name: str = "width", **question: object) -> ProbeResult:
    asked = ask.ProbeRequest(registry.get(name), run.path, users=FEW, repeats=1, **question)  # type: ignore[arg-type]
    return ask.ask(asked, lambda what, held, of: None)
