"""Which learning rate the rules of docs/decisions choose: 2026-11-21-learning-rate.md for tiny,
2026-11-23-listening-policy.md for policy=tabular.

    harness sweep policy=tabular difficulty=easy,medium,hard seed=101,102 \\
        algorithm.learning_rate=3,6,12,24,48 algorithm.null_control=false,true
    python -m benchmarks.learning_rate runs/SWEEP...

Prints one Markdown row a rate over all the sweeps: exit codes, the entropy that real runs and null
controls lost, the largest share of flagged replies of a real run, and the gain of the real runs on
held-out users of their own level. By the rule of tiny a rate passes, fails, or is open where runs
that the rule asks for are missing.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from harness.config.run import LEVELS
from harness.records import run_folder, run_status
from harness.records.run_folder import RunFolder


@dataclass(frozen=True)
class Loss:
    """The outcome of one run."""

    exit_code: int | None
    level: str
    null_control: bool
    start_nats: float
    end_nats: float
    flagged: float
    gain: float
    """Of mean final emotion / 100 of held-out users, from the first evaluation to the last."""

    @property
    def nats(self) -> float:
        return self.start_nats - self.end_nats


def main() -> None:
    by_rate: dict[float, list[Loss]] = defaultdict(list)
    for path in sorted(p for sweep in sys.argv[1:] for p in Path(sweep).glob("*/run.json")):
        run = RunFolder(path.parent)
        config = run_folder.read_config(run)
        by_rate[config.algorithm.learning_rate].append(_loss(run))
    print("| rate | exits 70 | H lost: easy, real | easy, null | null / real |", end="")
    print(" flagged | medium real, null | hard real, null | gain: easy, medium, hard | passes |")
    print("|" + "---|" * 10)
    for rate, losses in sorted(by_rate.items()):
        print(_row(rate, losses))


def _loss(run: RunFolder) -> Loss:
    config, status = run_folder.read_config(run), run_status.read(run.status)
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    last = rows[-max(1, len(rows) // 10) :]
    rewards = [r["eval/reward"] for r in rows if r["eval/reward"] is not None]
    return Loss(
        status.exit_code,
        config.difficulty.name,
        config.algorithm.null_control,
        rows[0]["entropy"],
        sum(r["entropy"] for r in last) / len(last),
        sum(r["text/flagged"] for r in last) / len(last),
        rewards[-1] - rewards[0],
    )


def _row(rate: float, losses: list[Loss]) -> str:
    def mean(level: str, null: bool) -> float | None:
        chosen = [r.nats for r in losses if r.level == level and r.null_control == null]
        return sum(chosen) / len(chosen) if chosen else None

    real, null = mean("easy", False), mean("easy", True)
    share = None if real is None or null is None else null / real
    gains = [mean_gain(losses, level) for level in LEVELS]
    others = [(mean(level, False), mean(level, True)) for level in ("medium", "hard")]
    diverged = sum(r.exit_code == 70 for r in losses)
    flagged = max((r.flagged for r in losses if not r.null_control), default=None)
    fails = diverged > 0 or (flagged or 0) >= 0.10 or (share or 0) >= 0.5
    missing = share is None or any(value is None for value, _ in others)
    cells = [f"{rate:g}", f"{diverged} of {len(losses)}", _shown(real), _shown(null), _shown(share)]
    cells += ["-" if flagged is None else f"{flagged:.3f}"]
    cells += [", ".join(map(_shown, pair)) for pair in others]
    cells.append(", ".join(map(_shown, gains)))
    return f"| {' | '.join(cells)} | {'no' if fails else 'open' if missing else 'yes'} |"


def mean_gain(losses: list[Loss], level: str) -> float | None:
    """Of the real runs at a level; None without any."""
    gains = [r.gain for r in losses if r.level == level and not r.null_control]
    return sum(gains) / len(gains) if gains else None


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
