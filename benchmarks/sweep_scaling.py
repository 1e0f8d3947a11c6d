"""Throughput of k runs at once over one, against k plain loops on the same machine.

    python -m benchmarks.sweep_scaling [K [STEPS [ROUNDS]]]

A round is four things one after the other: one loop of plain Python and numpy in a process of its
own; K of them at once; `harness sweep` with one tabular run of STEPS steps; with K, a seed each.
Throughput of K over one is K times the seconds of one over the seconds of K. For the runs it is
reckoned from the steps alone (events.jsonl) and from the command as a whole, whose start is not
shared. The ratio of the runs' to the loops' should be at least 0.95 at 2 on 2 idle cores; the load
before each round is printed, and other work on the machine falls on both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOOP = """
import re, sys
import numpy as np
random = np.random.default_rng(int(sys.argv[1]))
words = re.compile(r"[a-z']+")
text = "i hear how hard that was, and that you'd rather not talk about it. " * 8
for _ in range(int(sys.argv[2])):
    counts = {}
    for word in words.findall(text):
        counts[word] = counts.get(word, 0) + 1
    table = random.standard_normal((64, 8))
    table -= np.log(np.exp(table).sum(axis=1, keepdims=True))
    table.argsort(axis=1)
"""
LOOPS_A_STEP = 900
"""So that a loop takes about as long as a run."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]]
    k, steps, rounds = [*counts, *(2, 400, 3)[len(counts) :]]
    ratios = []
    for number in range(1, rounds + 1):
        print(f"round {number}, load {os.getloadavg()[0]:.2f}", flush=True)
        of_loops = k * _loops(1, steps) / _loops(k, steps)
        one, many = _sweep(1, steps), _sweep(k, steps)
        of_steps = many[0] / one[0]
        of_command = k * one[1] / many[1]
        ratios.append(of_steps / of_loops)
        print(
            f"  throughput of {k} over one: loops {of_loops:.2f}, steps of runs {of_steps:.2f}, "
            f"whole sweeps {of_command:.2f}; runs over loops {ratios[-1]:.3f}",
            flush=True,
        )
    print(f"median of runs over loops {statistics.median(ratios):.3f}, 0.95 wanted")


def _loops(count: int, steps: int) -> float:
    """Seconds until the last of `count` loops has ended."""
    began = time.monotonic()
    loops = [
        subprocess.Popen([sys.executable, "-c", LOOP, str(n), str(steps * LOOPS_A_STEP)])
        for n in range(count)
    ]
    assert not any(loop.wait() for loop in loops)
    return time.monotonic() - began


def _sweep(count: int, steps: int) -> tuple[float, float]:
    """Steps a second of all runs together while all of them run; seconds of the whole command."""
    seeds = ",".join(str(seed) for seed in range(1, count + 1))
    words = ["policy=tabular", f"trainer.steps={steps}", f"seed={seeds}"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-P", "-m", "harness", "sweep", *words],
            cwd=folder, env={**os.environ, **ONE_THREAD}, check=True, capture_output=True,
        )  # fmt: skip
        seconds = time.monotonic() - began
        runs = [_step_times(path) for path in Path(folder).glob("runs/*/*/events.jsonl")]
    assert [len(times) for times in runs] == [steps] * count
    first, last = max(times[0] for times in runs), min(times[-1] for times in runs)
    done = sum(first < at <= last for times in runs for at in times)
    return done / (last - first), seconds


def _step_times(path: Path) -> list[float]:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event["time_unix_s"] for event in events if event["event"] == "step"]


if __name__ == "__main__":
    main()
