"""Gain of each run of a sweep on held-out users, and the entropy it lost.

    harness sweep policy=tabular difficulty=easy,medium,hard seed=1,2,3
    harness sweep policy=tabular difficulty=easy,medium,hard algorithm.null_control=true
    python -m benchmarks.gain runs/FIRST runs/SECOND

Prints one Markdown row a run. The gain is the last evaluation less the first, at the run's own
level; its interval takes the two as independent, which is wide, since the users are the same.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.records import run_folder
from harness.records.run_folder import RunFolder

Row = dict[str, Any]


def main() -> None:
    print(
        "| level | seed | control | H start -> end | probe end | R first -> last tenth | ", end=""
    )
    print("eval start -> end | gain, 95% | groups below floor | users lost |\n|" + "---|" * 10)
    for sweep in sys.argv[1:]:
        for path in sorted(Path(sweep).glob("*/run.json")):
            print(_row(RunFolder(path.parent)))


def _row(run: RunFolder) -> str:
    config = run_folder.read_config(run)
    rows: list[Row] = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    tenth = max(1, len(rows) // 10)
    first, last = rows[:tenth], rows[-tenth:]
    start, end = _evaluated(rows)
    gain = end["eval/reward"] - start["eval/reward"]
    half = 1.96 * math.hypot(start["eval/reward_se"], end["eval/reward_se"])
    cells = (
        config.difficulty.name,
        str(config.seed),
        "null" if config.algorithm.null_control else "",
        f"{rows[0]['entropy']:.2f} -> {_mean(last, 'entropy'):.2f}",
        f"{end['entropy/probe']:.2f}",
        f"{_mean(first, 'reward'):.3f} -> {_mean(last, 'reward'):.3f}",
        f"{start['eval/reward']:.3f} -> {end['eval/reward']:.3f}",
        f"{gain:+.3f} [{gain - half:+.3f}, {gain + half:+.3f}]",
        f"{_mean(first, 'groups/below_floor'):.2f} -> {_mean(last, 'groups/below_floor'):.2f}",
        f"{_mean(first, 'emotion/failure_rate'):.2f} -> {_mean(last, 'emotion/failure_rate'):.2f}",
    )
    return "| " + " | ".join(cells) + " |"


def _evaluated(rows: Sequence[Row]) -> tuple[Row, Row]:
    evaluated = [row for row in rows if row["eval/reward"] is not None]
    return evaluated[0], evaluated[-1]


def _mean(rows: Sequence[Row], key: str) -> float:
    return float(sum(row[key] for row in rows) / len(rows))


if __name__ == "__main__":
    main()
