"""Whether `harness diagnose` finds the cause that was planted in a run, and no other.

    OMP_NUM_THREADS=1 python -m benchmarks.diagnose --seeds 100

trains runs of policy=tabular with one thing wrong each, or nothing, and counts those with the right
flag and no other, one run a core. The rules were set on seeds 1 to 5; this begins at seed 1001.
Prints the table of docs/diagnosis.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from scipy.stats import beta

from harness.compose import planner
from harness.execution import gpu_lease
from harness.law.diagnosis import diagnose
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.__main__ import attempt

FIRST_SEED = 1001
COMMON = (
    "policy=tabular", "trainer.conversations=32", "trainer.steps=100", "eval.levels=[]",
    "eval.deaf=false", "eval.users=32",
)  # fmt: skip


@dataclass(frozen=True)
class Plant:
    """What is wrong with a run, and the flags that it is to raise."""

    name: str
    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    share: float = 1.0
    """Of the seeds."""


PLANTS = (
    Plant("advantages shuffled", ("difficulty=medium", "algorithm.null_control=true"), ("noise",)),
    Plant(
        "a level that starves",
        ("difficulty=hard", "policy.observation=last_words", "algorithm.learning_rate=1"),
        ("starved",),
    ),
    Plant("paid for solving", ("difficulty=medium", "reward.solution_bias=0.8"), ("solving",)),
    Plant("healthy, easy", ("difficulty=easy",), (), 0.5),
    Plant("healthy, medium", ("difficulty=medium",), (), 0.5),
    Plant("healthy, hard", ("difficulty=hard",), (), 0.5),
)


def flags_of(plant: Plant, seed: int, folder: Path) -> tuple[str, ...]:
    """Train one run and diagnose it."""
    run = RunFolder(folder)
    words = [*COMMON, *plant.words, f"seed={seed}"]
    run_folder.create(run, planner.point(words).config)
    if attempt(run, lambda event: None):
        return ("unfinished",)
    (found,), _ = diagnose.diagnose([folder])
    return found.flags


def row(plant: Plant, found: Sequence[tuple[str, ...]]) -> str:
    """A row of the table: how many are right, with the interval of Clopper and Pearson."""
    n, right = len(found), sum(flags == plant.flags for flags in found)
    low = float(beta.ppf(0.025, right, n - right + 1)) if right else 0.0
    high = float(beta.ppf(0.975, right + 1, n - right)) if right < n else 1.0
    wrong = Counter(" and ".join(flags) or "no flag" for flags in found if flags != plant.flags)
    others = ", ".join(f"{count} {flags}" for flags, count in wrong.most_common()) or "-"
    words = " ".join(plant.words)
    wanted = plant.flags[0] if plant.flags else "no flag"
    return (
        f"| {plant.name} (`{words}`) | {wanted} | {right}/{n} [{low:.0%}, {high:.0%}] | {others} |"
    )


def table(seeds: int) -> Iterator[str]:
    """The table, row by row, as each plant is done."""
    yield "| planted | to find | right [95%] | else |"
    yield "|---|---|---|---|"
    spawned = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as scratch,
        ProcessPoolExecutor(gpu_lease.cores(), spawned) as pool,
    ):
        for plant in PLANTS:
            every = range(FIRST_SEED, FIRST_SEED + round(plant.share * seeds))
            folders = [Path(scratch) / f"{plant.name}-{seed}" for seed in every]
            yield row(plant, list(pool.map(flags_of, repeat(plant), every, folders)))


def main() -> None:
    """Print the table and what it cost."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    for line in table(parser.parse_args().seeds):
        print(line, flush=True)
    spent = os.times()
    print(f"\n{spent.user + spent.children_user:.0f} CPU seconds")


if __name__ == "__main__":
    main()
