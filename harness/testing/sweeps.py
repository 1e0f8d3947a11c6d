"""Whole sweeps with known ceilings, compared as `harness fit-entropy-law` compares them.

Runs are made, written and judged once. A sweep takes some of them and shifts their rewards: a run
with R higher by c has the same H, the same verdict, and b and ceiling higher by c. Seeds of a level
therefore differ by the given spread and by each run's own estimation error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from harness.law import analysis
from harness.law.compare import contrasts, groups
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.groups import Member
from harness.law.group_results import Contrast, GroupResult
from harness.law.io.clean import Points
from harness.law.results import Interval, LawNumbers
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import TRUE_CEILING, SyntheticRun

COMMON = "eval/medium/reward"
"""The metric that levels are compared on: an evaluation with the same users for all levels."""


@dataclass(frozen=True)
class LevelCeilings:
    """Mean and standard deviation of the ceilings of a level's seeds."""

    ceiling: float
    spread: float = 0.02


def runs(
    folder: Path, made: Callable[[int], SyntheticRun], seeds: Sequence[int]
) -> tuple[Member, ...]:
    """Write a run for each seed to `folder`, with the common evaluation at every step; read them
    back as the law stage does.
    """
    for seed in seeds:
        rows = [{**row, COMMON: row["reward"]} for row in synthetic.rows(made(seed))]
        run_folders.write_run(folder / str(seed), rows, seed=seed)
    every = analysis.load_members([folder])
    for member in every:
        member.replicate.span(COMMON)  # cached, so that it is judged once for all sweeps
    return every


def sweep(
    known: Sequence[Member], rng: Generator, levels: Sequence[LevelCeilings], seeds: int
) -> list[Member]:
    """Return `seeds` runs of each level, drawn from `known` without replacement."""
    drawn = iter(rng.choice(len(known), size=len(levels) * seeds, replace=False))
    return [
        shift_rewards(
            known[next(drawn)],
            rng.normal(level.ceiling, level.spread) - TRUE_CEILING,
            f"level {place}",
            seed,
        )
        for place, level in enumerate(levels)
        for seed in range(1, seeds + 1)
    ]


def shift_rewards(member: Member, by: float, level: str, seed: int) -> Member:
    """Return the run with all rewards raised by `by`, as a run of another level and seed."""
    run, who = member.result, member.identity
    config: dict[str, Any] = dict(who.config or {})
    config |= {"seed": seed, "difficulty": {**config["difficulty"], "name": level}}
    name = f"{level}/{seed}"
    points = {c: _points(p, by) for c, p in member.replicate.points.items()}
    return replace(
        member,
        result=replace(
            run,
            run=name,
            seed=seed,
            level=level,
            b=_higher(run.b, by),
            ceiling=_higher(run.ceiling, by),
            whole_run=_numbers(run.whole_run, by),
        ),
        identity=replace(who, config=config),
        replicate=replace(member.replicate, points=points, _laws={}, _numbers={}),
    )


def _points(points: Points, by: float) -> Points:
    return Points(points.steps, points.entropy, points.reward + by)


def _higher(interval: Interval | None, by: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.value + by, interval.low + by, interval.high + by)


def _numbers(law: LawNumbers | None, by: float) -> LawNumbers | None:
    if law is None:
        return None
    return replace(law, b=_higher(law.b, by), ceiling=_higher(law.ceiling, by))


def compare_levels(members: Sequence[Member]) -> tuple[GroupResult, ...]:
    """Return the groups of a sweep, with their contrasts, in the order of its levels."""
    found = groups.group(members, pool_unlike=False).groups
    return contrasts.add_contrasts(found, members, DEFAULT_MARGINS, pool_unlike=False)


def of_quantity(every: Sequence[GroupResult], quantity: str) -> list[tuple[int, int, Contrast]]:
    """Return the contrasts in `quantity`, each after the indices of its group and its baseline."""
    places = {str(dict(group.key)): place for place, group in enumerate(every)}
    return [
        (place, places[str(dict(contrast.baseline))], contrast)
        for place, group in enumerate(every)
        for contrast in group.contrasts
        if contrast.quantity == quantity
    ]


def share(found: Sequence[bool]) -> float:
    """Return the percentage of True; NaN if empty."""
    return 100 * float(np.mean(found)) if len(found) else float("nan")
