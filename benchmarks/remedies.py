"""CPU seconds of a step with each remedy over one without, in turns, one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.remedies [rounds] [tabular|tiny ...]

The learning rate is 0, so that the same policy holds the same conversations whatever the remedy and
only its own work is left; two updates a batch, since some remedies ask for them. `dapo` is not
here: what its dynamic sampling costs is the groups it holds anew, which `groups/drawn` counts; its
other parts are. Runs with and without take turns. Step n of all is the same work but for the
remedy, so its least time over the rounds counts, which a busy machine disturbs least, and the ratio
is of the sums of these. Prints a Markdown table; remedies.md holds a dated result.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness import launch
from harness.config import RunConfig
from harness.records import folder
from harness.records.folder import RunFolder
from harness.train import evaluate
from harness.train.__main__ import attempt

REMEDIES = (
    "clip_higher", "gppo", "ce_gppo", "clip_cov", "kl_cov", "forking_tokens", "reference_kl",
    "entropy_bonus", "entropy_controller", "soft_overlong",
)  # fmt: skip
STEPS = {"tabular": 22, "tiny": 5}
ALIKE = (
    "algorithm.learning_rate=0",
    "trainer.updates_per_batch=2",
    "trainer.eval_every=1000000",
    "trainer.checkpoint_every=1000000",
    "trainer.conversations_every=1000000",
)


def planned(rung: str, remedy: str) -> RunConfig:
    words = [f"policy={rung}", f"remedy={remedy}", f"trainer.steps={STEPS[rung]}", *ALIKE]
    words += ["trainer.conversations=16"] * (rung == "tiny")
    words += ["remedy.methods.entropy_controller.target=20"] * (remedy == "entropy_controller")
    (point,) = launch.plan(words).points
    return point.config


def seconds(config: RunConfig) -> list[float]:
    """CPU seconds of each step, the evaluated ones left out."""
    at: list[float] = []

    def emit(event: Mapping[str, Any]) -> None:
        if event["event"] == "step":
            at.append(time.process_time())

    with tempfile.TemporaryDirectory() as scratch:
        run = RunFolder(Path(scratch) / "run")
        folder.create(run, config)
        if attempt(run, emit):
            raise RuntimeError(f"remedy={config.remedy.name} did not end well")
    return [after - before for before, after in pairwise(at[:-1])]


def least(runs: Sequence[list[float]]) -> float:
    """Seconds of all steps, each in the quickest of the runs."""
    return sum(min(step) for step in zip(*runs, strict=True))


def main(rounds: int, rungs: list[str]) -> None:
    evaluate.finals = partial(evaluate.finals, users=2)
    print("| policy | remedy | a step without, CPU s | with it, over that |")
    print("|---|---|---|---|")
    for rung in rungs:
        names = [n for n in ("none", *REMEDIES) if (rung, n) != ("tabular", "soft_overlong")]
        configs = {name: planned(rung, name) for name in names}
        seconds(configs["none"])  # warms up
        runs = [{name: seconds(config) for name, config in configs.items()} for _ in range(rounds)]
        spent = {name: least([one[name] for one in runs]) for name in names}
        for name in names[1:]:
            step, ratio = spent["none"] / (STEPS[rung] - 2), spent[name] / spent["none"]
            print(f"| {rung} | {name} | {step:.4f} | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 5, [w for w in sys.argv[1:] if w in STEPS] or list(STEPS))
