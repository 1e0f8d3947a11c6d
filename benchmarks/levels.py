"""What the seeds of a level say of all seeds of its kind, held against levels that are known.

    python -m benchmarks.levels [levels per cell] [first seed]

The levels and what is true of them: levels_made.py. Their numbers are those that
`harness fit-entropy-law` puts into `population` of law.json.

Prints Markdown, and what is promised; benchmarks/levels.md holds a dated result.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.levels_made import POOL, Cell, cells
from harness.law.compare import groups
from harness.law.population import levels
from harness.law.population_results import OverSeeds, Population, StepShare
from harness.law.results import BoundedEstimate, Interval
from harness.testing.promises import at_least, table

FIRST_SEED = 2_000_000
SEEDS = (3, 5, 10)
WANTED = 93.0
"""Percent of intervals that hold the truth, of the median cell."""


@dataclass
class Counted:
    """Intervals of one number in the levels of a cell."""

    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    asked: int = 0
    """How often the number was asked for: some levels have none."""

    def count(self, number: Interval | BoundedEstimate | None, truth: float) -> None:
        self.asked += 1
        if number is None:
            return
        low = -np.inf if number.low is None else number.low
        high = np.inf if number.high is None else number.high
        self.held.append(bool(low <= truth <= high))
        self.widths.append(high - low)

    @property
    def percent(self) -> float:
        return 100 * float(np.mean(self.held)) if self.held else float("nan")

    def __str__(self) -> str:
        if not self.held:
            return "none"
        given = f", given in {100 * len(self.held) / self.asked:.0f}%"
        lacking = given if len(self.held) < self.asked else ""
        width = float(np.median(self.widths))
        told = f"{width:.2g}" if np.isfinite(width) else "open"
        return f"{self.percent:.1f} ({told}{lacking})"


def measure(cell: Cell, seeds: int, count: int, seed: int) -> dict[str, Counted]:
    rng = np.random.default_rng([seed, seeds])
    counted: dict[str, Counted] = {}
    for _ in range(count):
        members, truth = cell.draw(rng, seeds)
        (group,) = groups.group(members, pool_unlike=True).groups
        (described,) = levels.add_population([group], members)
        assert described.population is not None
        for name, number, true in _numbers(described.population, truth):
            counted.setdefault(name, Counted()).count(number, true)
    return counted


def _numbers(
    told: Population, truth: Mapping[str, float]
) -> Iterator[tuple[str, Interval | BoundedEstimate | None, float]]:
    """Those of which something is known to be true."""
    onset = told.onset
    numbers: dict[str, Interval | BoundedEstimate | None] = {
        "mean a": told.law.a.mean,
        "mean ceiling": told.law.ceiling.mean,
        "sd of a over seeds": told.law.a.between,
        "sd of ceilings over seeds": told.law.ceiling.between,
        "share that follows": told.follows.share,
        "share that follows, of the decided": told.follows.decided,
        "P(collapse before the end)": onset.before_end,
        "P(collapse before the middle)": _by(onset.incidence, (onset.last_step or 0) / 2),
        "median onset": onset.parametric.median,
    }
    yield from ((name, numbers[name], true) for name, true in truth.items() if name in numbers)
    for of, name in ((told.law.a, "a"), (told.law.ceiling, "ceiling")):
        yield from _of_seeds(of, name, truth)


def _of_seeds(
    of: OverSeeds, name: str, truth: Mapping[str, float]
) -> Iterator[tuple[str, Interval | None, float]]:
    for run in of.runs:
        true = truth.get(f"{name} of {run.seed}")
        if true is not None:
            yield f"{name} of a seed, alone", run.own, true
            yield f"{name} of a seed, pooled", run.pooled, true


def _by(points: Sequence[StepShare], step: float) -> Interval:
    at = [point for point in points if point.step <= step][-1]
    return Interval(at.value, at.low, at.high)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FIRST_SEED
    began = time.perf_counter()
    print(f"{count} levels a cell, {POOL} runs of a kind, seeds from {first}\n")
    print("| kind | cell | number | 3 seeds | 5 seeds | 10 seeds |\n|" + "---|" * 6, flush=True)
    every: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, cell in cells(Path(folder), first):
            of_seeds = {seeds: measure(cell, seeds, count, first) for seeds in SEEDS}
            for name in of_seeds[SEEDS[0]]:
                counted = {seeds: of_seeds[seeds][name] for seeds in SEEDS}
                told = " | ".join(str(counted[seeds]) for seeds in SEEDS)
                print(f"| {kind} | {cell.name} | {name} | {told} |", flush=True)
                for seeds, one in counted.items():
                    if one.held:
                        where = f"{kind}; {cell.name}; {seeds} seeds"
                        every.setdefault(name, {})[where] = one.percent
    print(f"\nPromised:\n\n{_promised(every)}")
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def _promised(every: Mapping[str, Mapping[str, float]]) -> str:
    promises = []
    for name, by_cell in every.items():
        if not name.endswith("alone"):
            median = {f"median of {len(by_cell)} cells": float(np.median([*by_cell.values()]))}
            promises.append(at_least(f"{name}: intervals hold, %, median", median, WANTED))
            promises.append(at_least(f"{name}: intervals hold, %, worst cell", by_cell, 90.0))
    return table(promises)


if __name__ == "__main__":
    main()
