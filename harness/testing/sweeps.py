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
    folder: Path, make_run: Callable[[int], SyntheticRun], seeds: Sequence[int]
) -> tuple[Member, ...]:
    """Write a run for each seed to `folder`, with the common evaluation at every step; read them
    back as the law stage does.
    """
    for seed in seeds:
        rows = [{**row, COMMON: row["reward"]} for row in synthetic.rows(make_run(seed))]
        run_folders.write_run(folder / str(seed), rows, seed=seed)
    members = analysis.load_members([folder])
    for member in members:
        member.replicate.span(COMMON)  # cached, so that it is judged once for all sweeps
    return members


def sweep(
    members: Sequence[Member], rng: Generator, levels: Sequence[LevelCeilings], seeds: int
) -> list[Member]:
    """Return `seeds` runs of each level, drawn from `members` without replacement."""
    indices = iter(rng.choice(len(members), size=len(levels) * seeds, replace=False))
    return [
        shift_rewards(
            members[next(indices)],
            rng.normal(level.ceiling, level.spread) - TRUE_CEILING,
            f"level {index}",
            seed,
        )
        for index, level in enumerate(levels)
        for seed in range(1, seeds + 1)
    ]


def shift_rewards(member: Member, amount: float, level: str, seed: int) -> Member:
    """Return the run with all rewards raised by `amount`, as a run of another level and seed."""
    run, identity = member.result, member.identity
    config: dict[str, Any] = dict(identity.config or {})
    config |= {"seed": seed, "difficulty": {**config["difficulty"], "name": level}}
    name = f"{level}/{seed}"
    points = {c: _shift_points(p, amount) for c, p in member.replicate.points.items()}
    return replace(
        member,
        result=replace(
            run,
            run=name,
            seed=seed,
            level=level,
            b=_shift_interval(run.b, amount),
            ceiling=_shift_interval(run.ceiling, amount),
            whole_run=_shift_numbers(run.whole_run, amount),
        ),
        identity=replace(identity, config=config),
        replicate=replace(member.replicate, points=points, _laws={}, _numbers={}),
    )


def _shift_points(points: Points, amount: float) -> Points:
    return Points(points.steps, points.entropy, points.reward + amount)


def _shift_interval(interval: Interval | None, amount: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(interval.value + amount, interval.low + amount, interval.high + amount)


def _shift_numbers(law: LawNumbers | None, amount: float) -> LawNumbers | None:
    if law is None:
        return None
    return replace(
        law, b=_shift_interval(law.b, amount), ceiling=_shift_interval(law.ceiling, amount)
    )


def compare_levels(members: Sequence[Member]) -> tuple[GroupResult, ...]:
    """Return the groups of a sweep, with their contrasts, in the order of its levels."""
    group_results = groups.group(members, pool_unlike=False).groups
    return contrasts.add_contrasts(group_results, members, DEFAULT_MARGINS, pool_unlike=False)


def of_quantity(
    group_results: Sequence[GroupResult], quantity: str
) -> list[tuple[int, int, Contrast]]:
    """Return the contrasts in `quantity`, each after the indices of its group and its baseline."""
    indices = {str(dict(group.key)): index for index, group in enumerate(group_results)}
    return [
        (index, indices[str(dict(contrast.baseline))], contrast)
        for index, group in enumerate(group_results)
        for contrast in group.contrasts
        if contrast.quantity == quantity
    ]


def share(flags: Sequence[bool]) -> float:
    """Return the percentage of True; NaN if empty."""
    return 100 * float(np.mean(flags)) if len(flags) else float("nan")
