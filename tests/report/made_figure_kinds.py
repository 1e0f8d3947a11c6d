"""Runs of every kind that a figure is drawn of, and a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.law.group_results import Analysis, GroupNumbers, GroupResult, SeedMean, SeedNumbers
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import BoundedEstimate, Interval, Onset
from tests.report import made

COLLAPSE = Onset("terminal_fall", 40, 35, 45)


HEARD = Yardsticks(
    0.7,
    0.1,
    0.6,
    -0.2,
    None,
    AnchorRewards(BoundedEstimate(0.72, 0.7, 0.74), None, 1.4, BoundedEstimate(0.8, None, None)),
)


def card(value: float) -> dict[str, Interval]:
    names = ("acceptance", "need_expression", "population_final_emotion")
    return {name: Interval(value, value - 0.1, value + 0.1) for name in names}


def compared(runs: list[str]) -> GroupNumbers:
    """What the forest takes of a group: a mean of each quantity, and the seeds behind it."""
    quantities = ("a", "ceiling", "gain", "fall")
    means = {name: SeedMean(0.5, 0.4, 0.6, len(runs), 0) for name in (*quantities, "onset")}
    numbers = {name: made.around(0.5, 0.1) for name in quantities}
    seeds = [
        SeedNumbers(run=run, seed=seed, onset=0.5, reached=1.0, **numbers)
        for seed, run in enumerate(runs)
    ]
    return GroupNumbers(order=0, on="eval/reward", shared_range=True, seeds=seeds, **means)


def everything(level: str = "easy") -> Analysis:
    """An analysis that every figure has something to draw of."""
    runs = [
        made.fitted(
            f"{name}/{seed}", name, seed,
            onset=COLLAPSE, difficulty=card(at), yardsticks={"own": HEARD}, policy_verdict="deaf",
        )
        for name, at in ((level, 0.2), ("hard", 0.8))
        for seed in (1, 2)
    ]  # fmt: skip
    groups: list[GroupResult] = []
    for name in (level, "hard"):
        paths = [result.run for result, _ in runs if result.level == name]
        group = made.group({"difficulty": name}, paths, SeedMean(0.8, 0.7, 0.9, 2, 0))
        seeds = made.population(paths)
        groups.append(replace(group, compared=compared(paths), population=seeds))
    return made.analysis(runs, groups=groups)


def numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The cells of a row that are numbers, which text never is here."""
    found = {}
    for name, value in row.items():
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            continue
    return {k: v for k, v in found.items() if not isinstance(row[k], bool)}
