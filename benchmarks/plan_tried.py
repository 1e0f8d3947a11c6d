"""A plan that was tried: its size, and the share of studies of that size that decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.planning import search
from harness.planning.search import OutOfReach
from harness.planning.task import PlanningTask
from harness.testing.promises import at_least, at_most, table

WANTED, LOW, HIGH = 0.8, 75.0, 90.0
STUDIES = 1000
"""Made studies inside of each plan: a command takes 4,000."""
FEWER_STUDIES = 200
"""The same of a law's numbers, whose studies are asked one by one; a command takes 1,000."""


@dataclass(frozen=True)
class Tried:
    """A plan, and the share of studies of its size that decided the difference."""

    seeds: int | None
    """None where no size up to power.MOST was enough."""
    decided: float = 0.0
    own_size: bool = True
    """Whether it kept the pilot's steps and users."""


def planned(task: PlanningTask, known: bool) -> search.PlannedDesign | None:
    """None where no size is enough, or too little is known."""
    task = replace(task, known=known)
    made = search.simulated_studies(task, FEWER_STUDIES if search.errors_of(task) else STUDIES)
    found = search.plan(task, made)
    return None if isinstance(found, OutOfReach | str) else found


HEAD = "truth | pilot | plans | seeds a level: median [10%, 90%] | another size than the pilot's, %"
HEAD += " | out of reach, % | decided, %"


def line(name: str, source: str, every: Sequence[Tried]) -> str:
    reached = [one for one in every if one.seeds is not None]
    sizes = [one.seeds for one in reached if one.seeds is not None]
    low, middle, high = np.quantile(sizes, (0.1, 0.5, 0.9))
    shares = np.array([one.decided for one in reached])
    half = 1.96 * shares.std(ddof=1) / len(shares) ** 0.5
    other = 100 * np.mean([not one.own_size for one in reached])
    out = 100 * (1 - len(reached) / len(every))
    return (
        f"| {name} | {source} | {len(every)} | {middle:.0f} [{low:.0f}, {high:.0f}] | {other:.0f} "
        f"| {out:.1f} | {100 * shares.mean():.1f} +- {100 * half:.1f} |"
    )


def share_of(every: Sequence[Tried]) -> float:
    reached = [one for one in every if one.seeds is not None]
    return 100 * float(np.mean([one.decided for one in reached]))


def head() -> None:
    print(f"| {HEAD} |", flush=True)
    print(f"|{'---|' * (HEAD.count('|') + 1)}", flush=True)


def promised(figures: Mapping[str, Mapping[str, float]]) -> str:
    words = {
        "known": "spread known: studies of the planned size that decide, %",
        "pilots": "spread from a pilot: studies of the planned size that decide, %",
        "law": "whole runs: studies of the planned size that decide the ceiling, %",
    }
    return table(
        [
            bound(words[kind], dict(every), limit)
            for kind, every in figures.items()
            for bound, limit in ((at_least, LOW), (at_most, HIGH))
        ]
    )
