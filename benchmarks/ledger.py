"""What the entropy ledger says of tabular runs, against null controls and against itself.

    python -m benchmarks.ledger runs OUT.jsonl --seeds 1-20 --steps 200 difficulty=medium
    python -m benchmarks.ledger runs OUT.jsonl --seeds 1-20 --steps 200 difficulty=medium \\
        algorithm.null_control=true
    python -m benchmarks.ledger table OUT.jsonl

`runs` trains one run a seed, with an evaluation at either end alone, and adds a line of its ledger
to OUT.jsonl; seeds that are there already are left out, so that a long measurement can be done in
parts. `table` prints a Markdown row for each set of words.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from harness.compose import planner
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.train.__main__ import attempt

FIXED = ("policy=tabular", "eval.users=2", "eval.levels=[]", "trainer.checkpoint_every=10000")
CLOSES = 0.03
"""Nats within which signal, noise and remedy should sum to the total."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("runs", "table"))
    parser.add_argument("out", type=Path)
    parser.add_argument("words", nargs="*", help="words of the command line of harness train")
    parser.add_argument("--seeds", default="1-20", help="FIRST-LAST")
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_intermixed_args()
    lines = given.out.read_text().splitlines() if given.out.is_file() else []
    known = [json.loads(line) for line in lines]
    if given.action == "table":
        print("\n".join(_table(known)))
        return
    first, last = map(int, given.seeds.split("-"))
    words = [f"trainer.steps={given.steps}", *given.words]
    done = {row["seed"] for row in known if row["words"] == words}
    for seed in sorted({*range(first, last + 1)} - done):
        with given.out.open("a") as file:
            file.write(json.dumps({"words": words, "seed": seed, **_ledger(words, seed)}) + "\n")


def _ledger(words: Sequence[str], seed: int) -> dict[str, float]:
    """The ledger of a run from its first step to its last, and seconds of its steps."""
    steps = words[0].partition("=")[2]
    config = planner.point([*FIXED, f"trainer.eval_every={steps}", *words, f"seed={seed}"]).config
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder) / "run")
        run_folder.create(run, config)
        if code := attempt(run, lambda event: None):
            raise SystemExit(f"seed {seed} of {' '.join(words)} ended with exit code {code}")
        row = json.loads(run.metrics.read_text().splitlines()[-1])
        events = [json.loads(line) for line in run.events.read_text().splitlines()]
    seconds = [event["seconds"] for event in events if event["event"] == "step"]
    ledger = {key: value for key, value in row.items() if key.startswith("ledger/")}
    spent = sum(s["ledger"] for s in seconds)
    step = sum(s["rollout"] + s["update"] for s in seconds)
    return {**ledger, "share_of_step": spent / step, "cpu_s": time.process_time() - began}


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    by_words = defaultdict(list)
    for row in rows:
        by_words[" ".join(row["words"])].append(row)
    yield "| runs | n | total | signal | noise | remedy | sd(signal) / its error |" + (
        f" closure: mean, largest | within {CLOSES} | time |"
    )
    yield "|" + "---|" * 10
    for words, some in sorted(by_words.items()):
        column = {key: np.array([row[key] for row in some]) for key in some[0] if key[0] == "l"}
        closure = column["ledger/closure"]
        errors = np.sqrt(np.mean(column["ledger/signal_se"] ** 2))
        ratio = column["ledger/signal"].std(ddof=1) / errors if len(some) > 1 else np.nan
        parts = [_mean(column[f"ledger/{n}"]) for n in ("total", "signal", "noise", "remedy")]
        share = np.median([row["share_of_step"] for row in some])
        cells = [f"`{words}`", str(len(some)), *parts, f"{ratio:.2f}"]
        cells += [f"{closure.mean():+.4f}, {abs(closure).max():.4f}"]
        cells += [f"{(abs(closure) < CLOSES).sum()} of {len(some)}", f"{share:.1%}"]
        yield f"| {' | '.join(cells)} |"


def _mean(values: Any) -> str:
    """Mean with its 95% t interval."""
    n = len(values)
    if n < 2:
        return f"{values.mean():+.3f}"
    half = float(stats.t.ppf(0.975, n - 1)) * values.std(ddof=1) / np.sqrt(n)
    return f"{values.mean():+.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
