"""The memory estimate against what torch's CPU allocator holds, by phase.

    python -m benchmarks.memory [NAME ...]

Conversations as long as they can be are drawn and learnt from once, with made-up users, by the
functions of a run (`harness.train.trial`). What every operation of torch allocates is counted
until it is freed, which agrees with the CPU allocator's own sum (a test compares the two).
SmolLM2-135M has its real weights; a shape of 0.5B has random ones. On a CPU passes compute in
float32; the rows in bfloat16 switch autocast on, as on a GPU. Prints a Markdown table; memory.md
holds a dated result.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any
from unittest import mock

import torch

from harness.compose import planner
from harness.policy import model_files
from harness.testing.live_bytes import PeakMemory
from harness.train.engines.engine import TransformersEngine
from harness.train.loop import start
from harness.train.memory import estimate
from harness.train.trial import step as trial

SMALL = (
    "policy=smollm2_135m", "difficulty=easy", "difficulty.turn_cap=2", "eval.turn_cap=2",
    "trainer.conversations=8", "algorithm.group_size=4",
)  # fmt: skip
HALF = (
    "policy=qwen2_5_0_5b", "policy.init=random", "difficulty=easy", "difficulty.turn_cap=1",
    "eval.turn_cap=1", "trainer.conversations=4", "algorithm.group_size=4",
    "policy.max_turn_tokens=24", "trainer.gpus=0",
)  # fmt: skip
CASES = {
    "135M, adapters": SMALL,
    "135M, all weights": (*SMALL, "policy.lora_rank=0"),
    "135M, all weights, recomputed": (
        *SMALL, "policy.lora_rank=0", "policy.gradient_checkpointing=true",
    ),
    "135M, adapters, bfloat16": (*SMALL, "policy.dtype=bfloat16"),
    "135M, all weights, bfloat16": (*SMALL, "policy.lora_rank=0", "policy.dtype=bfloat16"),
    "0.5B, adapters, bfloat16": (*HALF, "policy.lora_rank=32"),
    "0.5B, all weights, bfloat16": HALF,
}  # fmt: skip


@contextlib.contextmanager
def computed_in(dtype: str) -> Iterator[None]:
    """A context in which a CPU computes as a GPU does: under autocast."""
    asked = getattr(torch, dtype)

    def precision(policy: Any, device: str) -> Any:
        return torch.autocast(device, dtype=asked, enabled=asked != torch.float32)

    with mock.patch.object(trial, "precision", precision):
        yield


def measure(words: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Estimated and measured bytes by phase."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = planner.point(list(words)).config
    models = start.load_as(config, "cpu")
    there = {id(m): m for m in (models.learner, models.judge)}.values()
    optimiser = trial.optimiser_of(config, models, 1e-6)
    meter, engine = PeakMemory(there, optimiser), TransformersEngine(models.learner)
    size = trial.full_size(config)
    with computed_in(config.policy.dtype):
        talked = meter.over(lambda: trial.rollout(config, models, engine, size))
        trained = trial.rollout(config, models, engine, trial.trained_size(config, size))
        learnt = meter.over(lambda: trial.learn(config, models, trained, optimiser))
    folder, prompt = model_files.ensure(config.policy), len(models.chat.opening(""))
    estimated = estimate.phases(config, folder, prompt_tokens=prompt, device="cpu")
    found = {"rollout": talked.peak_bytes or 0, "update": learnt.peak_bytes or 0}
    return {phase.name: (phase.total, found[phase.name]) for phase in estimated}


def main(names: Sequence[str]) -> None:
    print("| | phase | estimate | allocated | estimate over allocated |\n|---|---|---|---|---|")
    for name in names or CASES:
        alone = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        with alone:
            phases = alone.submit(measure, CASES[name]).result()
        for phase, (estimated, measured) in phases.items():
            print(
                f"| {name} | {phase} | {estimated / 1e9:.3f} GB | {measured / 1e9:.3f} GB | "
                f"{estimated / measured:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
