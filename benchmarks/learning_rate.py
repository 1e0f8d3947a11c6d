"""Which learning rate the rule of docs/decisions/2026-11-21-learning-rate.md chooses.

    harness sweep policy=tabular difficulty=easy,medium,hard seed=101,102 \\
        algorithm.learning_rate=2,4,8,16,32 algorithm.null_control=false,true
    python -m benchmarks.learning_rate runs/LAST_SWEEP

Prints one Markdown row a rate: exit codes, and the entropy that real runs and null controls lost.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from harness.records import folder
from harness.records.folder import RunFolder


@dataclass(frozen=True)
class Loss:
    """What became of one run."""

    exit_code: int | None
    level: str
    null_control: bool
    start_nats: float
    end_nats: float
    flagged: float

    @property
    def nats(self) -> float:
        return self.start_nats - self.end_nats


def main() -> None:
    by_rate: dict[float, list[Loss]] = defaultdict(list)
    for path in sorted(Path(sys.argv[1]).glob("*/run.json")):
        run = RunFolder(path.parent)
        config = folder.read_config(run)
        by_rate[config.algorithm.learning_rate].append(_loss(run))
    print("| rate | exits 70 | H lost: easy, real | easy, null | null / real |", end="")
    print(" flagged | medium real, null | hard real, null | passes |\n|" + "---|" * 9)
    for rate, losses in sorted(by_rate.items()):
        print(_row(rate, losses))


def _loss(run: RunFolder) -> Loss:
    config, status = folder.read_config(run), folder.read_status(run)
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    last = rows[-max(1, len(rows) // 10) :]
    return Loss(
        status.exit_code,
        config.difficulty.name,
        config.algorithm.null_control,
        rows[0]["entropy"],
        sum(r["entropy"] for r in last) / len(last),
        sum(r["text/flagged"] for r in last) / len(last),
    )


def _row(rate: float, losses: list[Loss]) -> str:
    def mean(level: str, null: bool) -> float:
        found = [r.nats for r in losses if r.level == level and r.null_control == null]
        return sum(found) / len(found) if found else float("nan")

    diverged = sum(r.exit_code == 70 for r in losses)
    flagged = max(r.flagged for r in losses)
    share = mean("easy", True) / mean("easy", False)
    passes = "yes" if not diverged and share < 0.5 and flagged < 0.10 else "no"
    others = " | ".join(
        f"{mean(level, False):.2f}, {mean(level, True):.2f}" for level in ("medium", "hard")
    )
    return (
        f"| {rate:g} | {diverged} of {len(losses)} | {mean('easy', False):.2f} | "
        f"{mean('easy', True):.2f} | {share:.2f} | {flagged:.3f} | {others} | {passes} |"
    )


if __name__ == "__main__":
    main()
