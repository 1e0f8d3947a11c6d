"""Whether `entropy_se` is the standard error of a batch's H, with a policy that has learnt.

    OMP_NUM_THREADS=1 python -m benchmarks.entropy_error [batches] [seeds...]

A tabular policy is trained at each named level, a quarter of its run, and then held still while it
draws independent batches: users and draws of steps that no run reaches. If entropy_se is right, the
standard deviation of H over batches is the root mean square of entropy_se, and H +- 1.96 entropy_se
holds the mean of all batches in 95%. Beside it the error with conversations as units, which
forgets that the conversations of a group share user and opening. Prints a Markdown table;
benchmarks/entropy_error.md holds a dated result.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.compose import planner
from harness.config.run import LEVELS, RunConfig
from harness.policy.tabular import TabularPolicy
from harness.records import checkpoints, run_folder
from harness.records.run_folder import RunFolder
from harness.train.__main__ import attempt
from harness.train.loop import tabular_state
from harness.train.loop.tabular_batch import trace_of
from harness.train.metrics.token_metrics import entropy_metrics, ratio_mean
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout import curriculum
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, rollout_groups
from harness.train.rollout.tabular_speaker import TabularSpeaker

BATCHES = 400
SEEDS = (9001,)
STEPS = 150
FIRST_STEP = 1_000_000
"""Of the batches: their users are those of no step of the run."""


@dataclass(frozen=True)
class Batches:
    """H of each batch with its standard error by groups and by conversations, nats."""

    entropy: FloatArray
    by_group: FloatArray
    by_conversation: FloatArray


def planned(level: str, seed: int) -> RunConfig:
    words = ["policy=tabular", f"difficulty={level}", f"seed={seed}", f"trainer.steps={STEPS}"]
    return planner.plan([*words, "trainer.eval_every=0"]).points[0].config


def trained(config: RunConfig) -> TabularPolicy:
    """The policy at the end of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / "run")
        run_folder.create(run, config)
        if attempt(run, lambda event: None):
            raise SystemExit("the run did not end well")
        newest, _ = checkpoints.newest(run.checkpoints)
        if newest is None:
            raise SystemExit("the run has kept no checkpoint")
        start = TabularPolicy.start(config.policy.observation, config.policy.prior_temperature)
        return tabular_state.load(newest.path, start)


def drawn(policy: TabularPolicy, config: RunConfig, count: int) -> Batches:
    """Draw `count` independent batches."""
    state, size = curriculum.begin(config, None), config.algorithm.group_size
    temperature = config.policy.temperature
    none = np.zeros((config.trainer.conversations, config.difficulty.turn_cap))
    rows = []
    for step in range(FIRST_STEP, FIRST_STEP + count):
        speaker = TabularSpeaker(policy, temperature, rng_of(config, step, ROLLOUT_STREAM))
        rollout_groups(state, speaker, step)
        trace = trace_of(policy, speaker.acts(), none, temperature)
        row = entropy_metrics(trace, size)
        _, by_conversation = ratio_mean(trace.entropy_nats, trace.conversation)
        rows.append((row["entropy"], row["entropy_se"], by_conversation))
    return Batches(*np.array(rows, dtype=np.float64).T)


def shown(batches: Batches) -> str:
    """Mean H, and of both errors sd(H) / SE and the share of batches whose interval holds."""
    entropy, count = batches.entropy, len(batches.entropy)
    cells = [f"{entropy.mean():.3f}"]
    for se in (batches.by_group, batches.by_conversation):
        ratio = entropy.std(ddof=1) / np.sqrt((se**2).mean())
        held = np.mean(np.abs(entropy - entropy.mean()) <= 1.96 * se)
        cells += [f"{ratio:.2f} ± {ratio / np.sqrt(2 * (count - 1)):.2f}", f"{100 * held:.0f}"]
    return " | ".join(cells)


def main(count: int, seeds: Sequence[int]) -> None:
    print("| level | seed | H | sd/SE, groups | held % | sd/SE, conversations | held % |")
    print("|---|---|---|---|---|---|---|")
    for level in LEVELS:
        for seed in seeds:
            config = planned(level, seed)
            batches = drawn(trained(config), config, count)
            print(f"| {level} | {seed} | {shown(batches)} |", flush=True)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else BATCHES, given[1:] or SEEDS)
