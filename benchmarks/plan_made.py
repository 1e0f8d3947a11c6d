"""Plans and studies whose numbers are drawn from a known truth: `benchmarks.plan made`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from benchmarks.plan_tried import WANTED, Tried, head, line, planned, promised, share_of
from benchmarks.plan_truth import (
    Truth,
    asked_of,
    cells,
    pilot_of,
)
from harness.planning import at_once, search, sizes
from harness.planning.answer import PlanRequest, task_of
from harness.planning.settings import RequestedLevels
from harness.planning.task import PlanningTask

KNOWN_SEEDS = 4000
"""Of a pilot that knows the spread."""
JUDGED = 200
"""Studies of the size of each plan."""


def of_pilots(
    truth: Truth, asked: RequestedLevels, rng: Generator, seeds: int | None, plans: int
) -> list[Tried]:
    """As many pilots of `seeds` a level, each with a plan and one study; with None one plan of a
    spread that is known, and its studies.
    """
    every: list[Tried] = []
    for number in range(plans):
        if seeds is not None or number == 0:
            made = pilot_of(truth, asked, rng, seeds or KNOWN_SEEDS)
            task = task_of(PlanRequest((), truth.effect, None, WANTED), asked, made)
            found = planned(task, known=seeds is None)
        every.append(Tried(None) if found is None else tried(truth, task, found, rng))
    return every


def tried(truth: Truth, task: PlanningTask, found: search.PlannedDesign, rng: Generator) -> Tried:
    """JUDGED studies of the size that was found."""
    size, n, pairs = found.design.size, found.design.seeds, task.rule.pairs
    made = truth.studies(rng, JUDGED, n, size.users, size.steps, pairs)
    decided = at_once.is_decided(task.rule, made, pairs.index((1, 0)))
    return Tried(n, float(decided.mean()), size == sizes.own_size(task))


def made(plans: int, first: int, chosen: Sequence[int]) -> None:
    """The `chosen` truths, or all, with their spread known and with pilots of 3, 5 and 10 seeds."""
    head()
    figures: dict[str, dict[str, float]] = {"known": {}, "pilots": {}}
    pooled: dict[int | None, list[Tried]] = {}
    for number, truth in enumerate(cells()):
        if chosen and number not in chosen:
            continue
        asked = asked_of(truth)
        for seeds in (None, 3, 5, 10):
            rng = np.random.default_rng([first, number, seeds or 0])
            every = of_pilots(truth, asked, rng, seeds, plans)
            pooled.setdefault(seeds, []).extend(every)
            source = "spread known" if seeds is None else f"{seeds} seeds"
            print(line(truth.name, source, every), flush=True)
    for seeds, every in pooled.items():
        source = "spread known" if seeds is None else f"{seeds} seeds"
        print(line("all of these", source, every), flush=True)
        figures["known" if seeds is None else "pilots"][source] = share_of(every)
    print()
    print(promised(figures))
