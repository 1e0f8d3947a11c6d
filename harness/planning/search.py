"""Find the cheapest design that decides a difference, among those the pilot is informative on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.law.compare.random_effects import RUN_95
from harness.law.results import Floats
from harness.planning import costs, lengths, power, sizes, spread
from harness.planning.costs import Hours, RunSize
from harness.planning.pilot import Pilot
from harness.planning.power import PairDraws
from harness.planning.simulated_studies import Power, SimulatedStudies
from harness.planning.spread import SeedSpreads
from harness.planning.task import PlanningTask

BEYOND = 100.0
"""Largest difference that is searched. No quantity reaches it."""
WORTH = 0.05
"""Share of the hours that a design must save to replace an earlier one, beginning with the pilot's
size."""


@dataclass(frozen=True)
class Design:
    """The sizes of a study and what they cost."""

    seeds: int
    size: RunSize
    hours: Hours
    there: float
    """Share of the stated difference that is assumed at the last step."""


@dataclass(frozen=True)
class PlannedDesign:
    """The chosen design, its power, and the uncertainty of its number of seeds."""

    design: Design
    power: Power
    pair: int
    """Index of the pair of levels that is hardest to decide."""
    seeds_low: int | None
    """Lower end of the 95% interval of the seeds needed, given the uncertainty of the spread;
    `seeds_high` is the upper end. None beyond power.MOST."""
    seeds_high: int | None


@dataclass(frozen=True)
class OutOfReach:
    """The result if no design of up to power.MOST seeds decides the difference."""

    least: float | None
    """The smallest difference that power.MOST seeds decide; None if there is none."""


def shares_there(task: PlanningTask, steps: int) -> list[float]:
    """Return the share of each pair's difference that is assumed at the end of `steps` steps."""
    return [lengths.share_there(task, pair, steps) for pair in task.rule.pairs]


def draw_pairs(
    task: PlanningTask, size: RunSize, shares: Sequence[float] | None = None
) -> list[PairDraws] | str:
    """Return each pair of levels in a design of that size, or the reason if too little is known.

    `shares`: shares_there of its steps, if already computed.
    """
    quantity, pilot = task.effect.quantity, task.pilot
    spreads = _spreads(task, size)
    if isinstance(spreads, str):
        return spreads
    middle = float(np.mean([mean_of(pilot, level, quantity) for level in range(len(pilot.levels))]))
    known_shares = tuple(seed_spread.known_share for seed_spread in spreads.each)
    run_errors = [float(np.median(halves)) / RUN_95 for halves in errors_of(task)]
    least = float(np.mean(np.square(run_errors))) if run_errors else 0.0
    effect = task.effect.absolute(middle)
    return [
        PairDraws(
            index,
            effect * share,
            spreads.draw((index,) if task.rule.paired else pair),
            known_shares,
            least,
        )
        for index, (pair, share) in enumerate(
            zip(task.rule.pairs, shares or shares_there(task, size.steps), strict=True)
        )
    ]


def mean_of(pilot: Pilot, level: int, quantity: str) -> float:
    """Return the mean over the seeds of a level at the end of the run; NaN if there is no value."""
    values = pilot.levels[level].at(quantity, pilot.levels[level].steps)
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _spreads(task: PlanningTask, size: RunSize) -> SeedSpreads | str:
    quantity, evaluation_size = task.effect.quantity, (size.users, size.repeats)
    step = lengths.seen_at(task, size.steps)
    if task.rule.paired:
        spreads = spread.of_pairs(task.pilot, task.rule.pairs, quantity, step, evaluation_size)
    else:
        spreads = spread.of_levels(task.pilot, quantity, step, evaluation_size)
    return replace(spreads, known=task.known) if isinstance(spreads, SeedSpreads) else spreads


def scale_difference(pair: PairDraws, factor: float) -> PairDraws:
    """Return the pair with its difference multiplied by `factor`."""
    return replace(pair, difference=factor * pair.difference)


def cheapest(task: PlanningTask) -> Design | OutOfReach | str:
    """Return the cheapest design by the closed form, or the reason why there is none."""
    best: Design | None = None
    shares: dict[int, list[float]] = {}
    for size in sizes.sizes(task):
        size_shares = shares.get(size.steps) or shares_there(task, size.steps)
        shares[size.steps] = size_shares
        if best is not None and not all(size_shares):
            continue
        pairs = draw_pairs(task, size, size_shares)
        if isinstance(pairs, str):
            return pairs
        if best is not None and _cannot_beat(best, task, size):
            continue
        seeds = power.size_of_all(task.rule, pairs, task.wanted)
        if seeds is None:
            continue
        design = Design(seeds, size, hours(task, size, seeds), min(size_shares))
        if best is None or _is_cheaper(design, best):
            best = design
    if best is None:
        return OutOfReach(_least(task, sizes.first_size(task)))
    return best


def _least(task: PlanningTask, size: RunSize) -> float | None:
    """Find the smallest difference that power.MOST seeds decide, by bisection to 1%."""
    pairs = draw_pairs(task, size)
    assert not isinstance(pairs, str)
    low, high = 1.0, 1.0
    while not all(_reaches(task, pair, high) for pair in pairs):
        high *= 2
        if high * task.effect.value > BEYOND:
            return None
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (
            (low, middle) if all(_reaches(task, p, middle) for p in pairs) else (middle, high)
        )
    return task.effect.value * high


def _least_simulated(
    task: PlanningTask, studies: SimulatedStudies, pair: PairDraws
) -> float | None:
    """Find the smallest difference, in steps of 1%, that power.MOST simulated seeds decide."""
    factor = 1.01
    while studies.power(scale_difference(pair, factor), power.MOST).value < task.wanted:
        factor *= 1.01
        if factor * task.effect.value > BEYOND:
            return None
    return task.effect.value * factor


def _reaches(task: PlanningTask, pair: PairDraws, factor: float) -> bool:
    return _closed_power(task, scale_difference(pair, factor), power.MOST) >= task.wanted


def _cannot_beat(best: Design, task: PlanningTask, size: RunSize) -> bool:
    most = _compared_hours(best.hours)
    return most is not None and (_compared_hours(hours(task, size, power.FEWEST)) or 0.0) >= most


def _is_cheaper(design: Design, other: Design) -> bool:
    costs_of = _compared_hours(design.hours), _compared_hours(other.hours)
    if costs_of[0] is None or costs_of[1] is None:
        return False  # savings are unknown
    return costs_of[0] < costs_of[1] * (1 - WORTH)


def _compared_hours(hours: Hours) -> float | None:
    return hours.gpu if hours.gpu is not None else hours.cpu


def hours(task: PlanningTask, size: RunSize, seeds: int) -> Hours:
    """Return the hours of all runs of a design."""
    return costs.hours(task.pilot, task.configs, size, seeds)


def simulated_studies(task: PlanningTask, studies: int | None = None) -> SimulatedStudies:
    """Return the simulated studies that determine the seeds of a design."""
    return SimulatedStudies(task.rule, len(task.pilot.levels), errors_of(task), studies)


def plan(task: PlanningTask, studies: SimulatedStudies) -> PlannedDesign | OutOfReach | str:
    """Return the cheapest design, with seeds determined by simulated studies, or the reason why
    there is none.
    """
    closed_form = cheapest(task)
    if not isinstance(closed_form, Design):
        return closed_form
    pairs = draw_pairs(task, closed_form.size)
    assert not isinstance(pairs, str)
    hardest = min(pairs, key=lambda pair: _closed_power(task, pair, closed_form.seeds))
    seeds, reached = studies.smallest_seeds(hardest, closed_form.seeds, task.wanted)
    if seeds is None:
        return OutOfReach(_least_simulated(task, studies, hardest))
    design = replace(closed_form, seeds=seeds, hours=hours(task, closed_form.size, seeds))
    low, high = power.sizes(task.rule, hardest, task.wanted)
    return PlannedDesign(design, reached, hardest.at, low, high)


def errors_of(task: PlanningTask) -> list[Floats]:
    """Return the half-widths of the runs' own intervals by level; empty if runs are unweighted."""
    quantity = task.effect.quantity
    half_widths = [level.errors.get(quantity) for level in task.pilot.levels]
    by_level = [
        np.array([v for v in level_half_widths or () if v is not None], dtype=float)
        for level_half_widths in half_widths
    ]
    return by_level if all(len(level_half_widths) for level_half_widths in by_level) else []


def _closed_power(task: PlanningTask, pair: PairDraws, seeds: int) -> float:
    return float(power.closed_form_power(task.rule, pair, np.array([float(seeds)])).mean())


def power_at(
    task: PlanningTask, studies: SimulatedStudies, size: RunSize, seeds: int
) -> Power | None:
    """Return the power for the hardest pair; None if too little is known."""
    pairs = draw_pairs(task, size)
    if isinstance(pairs, str):
        return None
    hardest = min(pairs, key=lambda pair: _closed_power(task, pair, seeds))
    return studies.power(hardest, seeds)
