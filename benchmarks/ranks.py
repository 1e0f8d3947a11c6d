"""Two ranks of one run against two runs of one rank at once: what sharing a run costs.

`python -m benchmarks.ranks [KEY=VALUE...]` prints a table of rounds and the medians of two ratios:
the conversations a second of a run of two ranks, to those of two runs of one rank with half of its
conversations each, which do the same work and wait for nobody; and to those of one run of one rank.
The first step of each run is left out: it warms up. Run it on two idle cores.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.words import merged

ROUNDS = 3
STEPS = 3
CONVERSATIONS = 8
WORDS = (
    "policy=smollm2_135m",
    "difficulty=medium",
    "difficulty.turn_cap=2",
    "algorithm.group_size=4",
    f"trainer.steps={STEPS}",
    "trainer.eval_every=0",
    "trainer.threads=1",
    "trainer.checkpoint_every=1000",
)


@dataclass(frozen=True)
class Run:
    """One `harness train`."""

    conversations: int
    ranks: int
    seed: int


def main(words: Sequence[str]) -> None:
    print("| round | two ranks, conversations/s | two runs | ratio | one rank | ratio |")
    print("|---|---|---|---|---|---|")
    shared, plain = [], []
    for number in range(1, ROUNDS + 1):
        half = CONVERSATIONS // 2
        (two,) = per_second([Run(CONVERSATIONS, 2, number)], words)
        apart = sum(per_second([Run(half, 1, number), Run(half, 1, 100 + number)], words))
        (one,) = per_second([Run(CONVERSATIONS, 1, number)], words)
        shared.append(two / apart)
        plain.append(two / one)
        print(
            f"| {number} | {two:.3f} | {apart:.3f} | {shared[-1]:.2f} | {one:.3f} "
            f"| {plain[-1]:.2f} |",
            flush=True,
        )
    print(f"\nMedians: {statistics.median(shared):.2f} of two runs at once, ", end="")
    print(f"{statistics.median(plain):.2f} times one rank.")


def per_second(runs: Sequence[Run], words: Sequence[str]) -> list[float]:
    """Conversations a second of each of some runs that train at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        started = [_start(run, Path(folder) / str(n), words) for n, run in enumerate(runs)]
        for child in started:
            if child.wait():
                raise SystemExit(f"a run ended with exit code {child.returncode}: {child.args!r}")
        return [_rate(run, Path(folder) / str(n)) for n, run in enumerate(runs)]


def _start(run: Run, path: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    own = [
        f"trainer.conversations={run.conversations}",
        f"trainer.ranks={run.ranks}",
        f"seed={run.seed}",
    ]
    every = merged([*WORDS, *own], words)
    command = [sys.executable, "-m", "harness", "train", *every, "--dir", str(path)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _rate(run: Run, path: Path) -> float:
    """Between the ends of the first and the last step."""
    events = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    ends = [event["time_unix_s"] for event in events if event["event"] == "step"]
    seconds: float = ends[-1] - ends[0]
    return run.conversations * (len(ends) - 1) / seconds


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1:])
