"""Memory and time of one step of policy=smollm2_135m on a CPU, in conversations of 4 turns.

    python -m benchmarks.real_model [KEY=VALUE ...]

`harness train` in a process of its own: with adapters, evaluated too, and with all weights; words
are added to each. Peak: the largest resident set of any of its processes, as the system counts it.
Seconds: wall clock of the phases, from the run's own events. Prints a Markdown table; real_model.md
holds a dated result.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.words import merged

ALWAYS = (
    "policy=smollm2_135m", "difficulty=easy", "difficulty.turn_cap=4", "trainer.threads=1",
    "trainer.steps=1", "eval.levels=[]", "eval.turn_cap=4",
)  # fmt: skip
SIDES = {
    "adapters": ("trainer.eval_every=0",),
    "adapters, evaluated with 8 users": (),
    "all weights": ("trainer.eval_every=0", "policy.lora_rank=0"),
}


@dataclass(frozen=True)
class Measured:
    """What one step of one side took."""

    peak_bytes: int
    cpu_s: float
    seconds: dict[str, float]
    """Wall clock by phase."""


def measure(words: Sequence[str]) -> Measured:
    """Train one step, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        command = [sys.executable, "-m", "harness", "train", *words, "--dir", str(run)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(os.waitstatus_to_exitcode(status))
        events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    (step,) = (event for event in events if event["event"] == "step")
    return Measured(used.ru_maxrss * 1024, used.ru_utime + used.ru_stime, step["seconds"])


def main(words: Sequence[str]) -> None:
    print("| | peak | CPU | evaluation | conversations | update |\n|---|---|---|---|---|---|")
    for name, more in SIDES.items():
        side = measure(merged(ALWAYS, [*more, *words]))
        spent = [f"{side.seconds[phase]:.0f} s" for phase in ("eval", "rollout", "update")]
        print(
            f"| {name} | {side.peak_bytes / 1e9:.2f} GB | {side.cpu_s:.0f} s | "
            f"{' | '.join(spent)} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
