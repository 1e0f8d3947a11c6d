"""One GRPO step on a GPU: tokens a second, and peak memory against the estimate.

    python -m benchmarks.gpu.step [KEY=VALUE ...]

Whole runs of a few steps with random weights of a listed shape, each in a process of its own: 0.5B
and 1.5B, with and without adapters; words are added to each. A step's seconds are those of the
run's own events (medians, the first and last step left out: they evaluate). `rollout`
includes the users, `update` the training forward, backward, the optimiser and the row's measures.
H of the first row is beside the entropy of equal odds, which random weights come close to. On a CPU
there is no peak to compare, and a listed shape takes minutes a step: `policy.layers=1` and so on.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.words import merged
from harness.compose import planner
from harness.config import engine_choice
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.loop import language
from harness.train.loop import session as sessions
from harness.train.memory import estimate

SHAPES = ("qwen2_5_0_5b", "qwen2_5_1_5b")
LORA_RANKS = (0, 32)
STEPS = 5
ALWAYS = (
    "policy.init=random", f"trainer.steps={STEPS}", "trainer.gpus=1", "policy.dtype=bfloat16",
    "trainer.checkpoint_every=1000000", "trainer.eval_every=1000000",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Times, tokens, entropy and memory of one run."""

    rollout_s: float
    update_s: float
    tokens: float
    """The policy's own, a step."""
    entropy_nats: float
    even_nats: float
    peak_bytes: int | None
    estimated_bytes: int


def measure(words: Sequence[str]) -> Measured:
    """Train as `harness train` would, in this process."""
    config = planner.point(merged(ALWAYS, words)).config
    with tempfile.TemporaryDirectory() as scratch:
        run = RunFolder(Path(scratch) / "run")
        run_folder.create(run, config)
        with sessions.open_session(run, config, lambda event: None) as session:
            language.train(session)
        rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
        events = [json.loads(line) for line in run.events.read_text().splitlines()]
    seconds = [event["seconds"] for event in events if event["event"] == "step"][1:-1]
    conversations = config.trainer.conversations
    total = torch.cuda.mem_get_info()[1] if config.trainer.gpus else 0
    # vLLM's weights and cache are in torch's count too, and only a trial can tell them apart
    counts = config.trainer.gpus and engine_choice.engine_of(config) == engine_choice.TRANSFORMERS
    return Measured(
        rollout_s=statistics.median(s["rollout"] for s in seconds),
        update_s=statistics.median(s["update"] for s in seconds),
        tokens=statistics.mean(row["completions/mean_length"] for row in rows[1:-1])
        * conversations,
        entropy_nats=rows[0]["entropy"],
        even_nats=math.log(config.policy.vocabulary),
        peak_bytes=torch.cuda.max_memory_allocated() if counts else None,
        estimated_bytes=max(  # vLLM's share is not torch's to count
            phase.total - phase.parts.get("vLLM", 0)
            for phase in estimate.phases(config, None, total)
        ),
    )


def main(words: Sequence[str]) -> None:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"{name}, torch {torch.__version__}\n")
    print("| policy | LoRA | rollout, tokens/s | training, tokens/s | H, nats | peak | estimate |")
    print("|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        for rank in LORA_RANKS:
            overrides = [f"policy={shape}", f"policy.lora_rank={rank}", *words]
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=spawn) as alone:
                measured = alone.submit(measure, overrides).result()
            peak = "-" if measured.peak_bytes is None else f"{measured.peak_bytes / 1e9:.1f} GB"
            print(
                f"| {shape} | {rank or 'no'} | {measured.tokens / measured.rollout_s:,.0f} | "
                f"{measured.tokens / measured.update_s:,.0f} | {measured.entropy_nats:.3f} of "
                f"{measured.even_nats:.3f} | {peak} | {measured.estimated_bytes / 1e9:.1f} GB |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
