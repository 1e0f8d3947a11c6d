"""Curricula in stages: how often a run is denied its laws, and how well the stages know theirs.

Prints the table of law_method.md, in per cent but for the half-widths:
`python -m benchmarks.stages [FIRST_SEED [RUNS]]`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.law.analysis import analyse
from harness.law.results import Interval, RunResult
from harness.testing import run_folders, staged

FIRST_SEED, RUNS = 2_000_000, 100
HEADING = (
    "| truth | rows | H ends at | fails | holds | a separate | stages that fail | a covered "
    "| ceiling covered | half-width of a |\n|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Truth:
    """a and b of three stages."""

    name: str
    b: tuple[float, float, float]
    a: tuple[float, float, float] = (0.3, 0.3, 0.3)


TRUTHS = (
    Truth("harder users", (1.2, 1.0, 0.85)),
    Truth("easier users", (0.85, 1.0, 1.2)),
    Truth("a of its own each", (1.1, 1.1, 1.1), (0.2, 0.3, 0.4)),
    Truth("one law", (1.1, 1.1, 1.1)),
    Truth("wrong sign in each", (0.3, 0.1, -0.05), (-0.2, -0.2, -0.2)),
)


def runs_of(truth: Truth, n: int, end: float, seeds: Sequence[int]) -> list[RunResult]:
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            rows = staged.lawful_rows([n // 3] * 3, truth.b, truth.a, end, seed)
            run_folders.write_rows(Path(folder) / f"{seed}", rows)
        return list(analyse([Path(folder)]).runs)


def row(truth: Truth, n: int, end: float, runs: Sequence[RunResult]) -> str:
    words = Counter(run.verdict for run in runs)
    fails, holds = words["fails"], words["holds"] + words["holds_form_open"]
    separate = sum(run.stages_a == "separate" for run in runs)
    of_stage = [list(laws) for laws in zip(*(run.stages or () for run in runs), strict=True)]
    denied = [sum(law.verdict == "fails" for law in laws) for laws in of_stage]
    a = [
        covered([law.a for law in laws], true) for laws, true in zip(of_stage, truth.a, strict=True)
    ]
    ceilings = [b - of_a for b, of_a in zip(truth.b, truth.a, strict=True)]
    c = [
        covered([law.ceiling for law in laws], true)
        for laws, true in zip(of_stage, ceilings, strict=True)
    ]
    half = [np.median([(x.a.high - x.a.low) / 2 for x in laws if x.a]) for laws in of_stage]
    cells = (truth.name, n, end, fails, holds, separate, *map(triple, (denied, a, c)))
    widths = " / ".join(f"{value:.2f}" for value in half)
    return f"| {' | '.join(map(str, cells))} | {widths} |"


def covered(intervals: Sequence[Interval | None], truth: float) -> int:
    """Per cent of them that hold the truth."""
    inside = [one is not None and one.low <= truth <= one.high for one in intervals]
    return round(100 * float(np.mean(inside)))


def triple(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in values)


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    first, count = (*given, *(FIRST_SEED, RUNS)[len(given) :])
    print(HEADING)
    for n in (300, 900):
        for truth in TRUTHS:
            for end in (0.05, 0.3):
                print(row(truth, n, end, runs_of(truth, n, end, range(first, first + count))))


if __name__ == "__main__":
    main()
