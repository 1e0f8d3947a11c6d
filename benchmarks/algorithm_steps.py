"""CPU seconds of whole steps by algorithm, over those of grpo at equal conversations.

    OMP_NUM_THREADS=1 python -m benchmarks.algorithm_steps ROUNDS STEPS [NAME ...] [KEY=VALUE ...]

A round has one run of each algorithm, or of each NAME, in this process and on one thread, between
two of grpo, whose mean is what the round's runs are compared with: what slows the machine for
minutes slows both. The rate is next to 0, so that all keep the start policy, and with it the length
of conversations. A run counts from its first row to its last but one: rollout, critique, learning,
critic, optimiser, ledger and records, without evaluations. Rounds meet the same users, whose
judgement of a sentence is kept, so before the first each algorithm runs once uncounted. Prints a
Markdown table: the median over rounds of each ratio, its least and its largest, the replies that an
algorithm draws beyond the batch's as a share of these, and the median without them.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.words import merged
from harness.compose import planner
from harness.config.run import RunConfig
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.loop import session as sessions

NAMES = ("reptile", "vpo", "critique_grpo", "ppo", "kto", "expert_iteration")
FIXED = (
    "trainer.eval_every=0", "eval.users=8", "eval.deaf=false", "eval.prefixes=0",
    "algorithm.learning_rate=1e-9", "trainer.checkpoint_every=1000",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What a run's steps took."""

    step_s: float
    """CPU seconds of a step."""
    extra_replies: float
    """Replies beyond the batch's, as a share of these."""


def planned(name: str, steps: int, words: list[str]) -> RunConfig:
    """A run of `name` in groups of 8, or of two sets of vpo."""
    size = 16 if name == "vpo" else 8
    own = [f"algorithm={name}", f"algorithm.group_size={size}", f"trainer.steps={steps}", *FIXED]
    return planner.point(merged(own, words)).config


def cost(config: RunConfig) -> Cost:
    """Run it, and take the CPU time between its first row and its last but one."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / "run")
        run_folder.create(run, config)
        with sessions.opened(run, config, lambda event: None) as session:
            loop = importlib.import_module(
                f"harness.train.loop.{'tabular' if config.policy.kind == 'tabular' else 'language'}"
            )
            loop.train(session)
        return _cost(run)


def _cost(run: RunFolder) -> Cost:
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    spent = [event["cpu_s"] for event in events if event["event"] == "step"]
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    size = run_folder.read_config(run).trainer.conversations
    replies = sum(row["turns/mean"] * size for row in rows)
    extra = sum(row["refined/replies"] or 0 for row in rows)
    return Cost((spent[-2] - spent[0]) / (len(spent) - 2), extra / replies)


def main(rounds: int, steps: int, given: list[str]) -> None:
    words = [word for word in given if "=" in word]
    tabular = "policy=tabular" in words
    names = [name for name in given if name in NAMES]
    names = names or [n for n in NAMES if tabular or n not in ("reptile", "vpo")]
    plain = planned("grpo", steps, words)
    configs = {name: planned(name, steps, words) for name in names}
    for config in (plain, *configs.values()):
        cost(config)
    base, ratios, extra = [cost(plain).step_s], dict[str, list[float]](), dict[str, float]()
    for _ in range(rounds):
        made = {name: cost(config) for name, config in configs.items()}
        base.append(cost(plain).step_s)
        between = (base[-2] + base[-1]) / 2
        for name, one in made.items():
            ratios.setdefault(name, []).append(one.step_s / between)
            extra[name] = one.extra_replies
    drift = [after / before for before, after in pairwise(base)]
    print(f"grpo: {statistics.median(base):.4f} s a step, one run over the one before "
          f"{statistics.median(drift):.3f}, {min(drift):.3f} to {max(drift):.3f}\n")  # fmt: skip
    print("| algorithm | step over grpo's | over rounds | extra replies | beyond them |")
    print("|---|---|---|---|---|")
    for name, some in ratios.items():
        middle, more = statistics.median(some), extra[name]
        spread = f"{min(some):.3f} to {max(some):.3f}"
        print(f"| `{name}` | {middle:.3f} | {spread} | {more:.3f} | {middle / (1 + more):.3f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
