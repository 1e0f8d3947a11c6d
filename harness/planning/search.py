"""The cheapest design that decides a difference, among those that the pilot says something of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from harness.law.compare.random_effects import RUN_95
from harness.law.results import Floats
from harness.planning import costs, lengths, power, spread
from harness.planning.costs import Hours, Size
from harness.planning.made_studies import MadeStudies, Power
from harness.planning.pilot import Pilot
from harness.planning.power import Drawn
from harness.planning.settings import REPEATS, USERS
from harness.planning.spread import OF_EVALUATIONS, Spreads
from harness.planning.task import Task

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Users or repeats of an evaluation, as multiples of the pilot's."""
FEWEST_USERS = 16
BEYOND = 100.0
"""No difference larger than that is looked for: no quantity reaches it."""
WORTH = 0.05
"""Another design than the pilot's own must save this share of its hours."""


@dataclass(frozen=True)
class Design:
    """The sizes of a study and what they cost."""

    seeds: int
    size: Size
    hours: Hours
    there: float
    """Share of the stated difference that is counted on at its last step."""


@dataclass(frozen=True)
class Planned:
    """The design to take, how sure it decides, and how far its seeds may be off."""

    design: Design
    power: Power
    pair: int
    """Number of the pair of levels that is hardest to decide."""
    seeds_low: int | None
    """Seeds if the spread is as small as it may be, with `seeds_high` a 95% interval; None beyond
    power.MOST."""
    seeds_high: int | None


@dataclass(frozen=True)
class OutOfReach:
    """No design of power.MOST seeds decides the difference."""

    least: float | None
    """The difference that so many seeds of the pilot's own size decide; None where none does."""


def drawn(task: Task, size: Size) -> list[Drawn] | str:
    """Each pair of levels in a design of that size; in words why not, where too little is known."""
    quantity, pilot = task.effect.quantity, task.pilot
    spreads = _spreads(task, size)
    if isinstance(spreads, str):
        return spreads
    middle = float(np.mean([mean_of(pilot, place, quantity) for place in range(len(pilot.levels))]))
    telling = tuple(one.telling for one in spreads.each)
    own = [float(np.median(halves)) / RUN_95 for halves in errors_of(task)]
    least = float(np.mean(np.square(own))) if own else 0.0
    effect = task.effect.absolute(middle)
    return [
        Drawn(
            at,
            effect * lengths.share_there(task, pair, size.steps),
            spreads.drawn((at,) if task.rule.paired else pair),
            telling,
            least,
        )
        for at, pair in enumerate(task.rule.pairs)
    ]


def mean_of(pilot: Pilot, place: int, quantity: str) -> float:
    """Mean over the seeds of a level at the end of the run, NaN where no run tells."""
    values = pilot.levels[place].at(quantity, pilot.levels[place].steps)
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _spreads(task: Task, size: Size) -> Spreads | str:
    quantity, met = task.effect.quantity, (size.users, size.repeats)
    step = lengths.seen_at(task, size.steps)
    if task.rule.paired:
        spreads = spread.of_pairs(task.pilot, task.rule.pairs, quantity, step, met)
    else:
        spreads = spread.of_levels(task.pilot, quantity, step, met)
    return replace(spreads, known=task.known) if isinstance(spreads, Spreads) else spreads


def scaled(pair: Drawn, by: float) -> Drawn:
    """The pair with a difference `by` times as large."""
    return replace(pair, difference=by * pair.difference)


def own_size(task: Task) -> Size:
    """That of the pilot's runs."""
    level = task.pilot.levels[0]
    return Size(level.steps, lengths.evaluations(task, level.steps), level.users, level.repeats)


def first_size(task: Task) -> Size:
    """That of the pilot, with what was typed put in."""
    level, config, steps = task.pilot.levels[0], task.configs[0], lengths.longest(task)
    users = config.eval.users if USERS in task.typed else level.users
    repeats = config.eval.repeats if REPEATS in task.typed else level.repeats
    return Size(steps, lengths.evaluations(task, steps), users, repeats)


def sizes(task: Task) -> Iterator[Size]:
    """Every size that the pilot says something of, its own first."""
    first = first_size(task)
    yield first
    for steps in lengths.lengths(task):
        for users in _users(task, first):
            for repeats in _repeats(task, first):
                size = Size(steps, lengths.evaluations(task, steps), users, repeats)
                if size != first:
                    yield size


def why_users(task: Task) -> str | None:
    """Why users and repeats are kept; None where other numbers are considered."""
    if task.effect.quantity not in OF_EVALUATIONS:
        return f"{task.effect.quantity} is of more than an evaluation's reward"
    if task.pilot.column_of(task.effect.quantity) != task.pilot.column:
        return f"it is decided on other users than those of {task.pilot.column}"
    if any(level.per_user is None for level in task.pilot.levels):
        return "no outcomes.json tells what an evaluation's size does"
    if any(config.simulator.kind not in ("scripted", "second") for config in task.configs):
        return "a served user was never met in other numbers"
    return "typed" if USERS in task.typed else None


def _users(task: Task, own: Size) -> list[int]:
    if why_users(task) is not None:
        return [own.users]
    return sorted({max(FEWEST_USERS, int(own.users * factor)) for factor in FACTORS})


def _repeats(task: Task, own: Size) -> list[int]:
    told = all(level.per_conversation is not None for level in task.pilot.levels)
    if why_users(task) not in (None, "typed") or REPEATS in task.typed or not told:
        return [own.repeats]
    return sorted({max(1, int(own.repeats * factor)) for factor in FACTORS})


def cheapest(task: Task) -> Design | OutOfReach | str:
    """By the closed form; in words why there is none."""
    best: Design | None = None
    for size in sizes(task):
        pairs = drawn(task, size)
        if isinstance(pairs, str):
            return pairs
        if best is not None and _cannot_beat(best, task, size):
            continue
        needed = [power.size(task.rule, pair, task.wanted) for pair in pairs]
        if any(seeds is None for seeds in needed):
            continue
        seeds = max(seeds for seeds in needed if seeds is not None)
        there = min(lengths.share_there(task, pair, size.steps) for pair in task.rule.pairs)
        design = Design(seeds, size, hours(task, size, seeds), there)
        if best is None or _is_cheaper(design, best):
            best = design
    if best is None:
        return OutOfReach(_least(task, first_size(task)))
    return best


def _least(task: Task, size: Size) -> float | None:
    """By bisection, to a hundredth of it."""
    pairs = drawn(task, size)
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


def _reaches(task: Task, pair: Drawn, by: float) -> bool:
    return _closed_power(task, scaled(pair, by), power.MOST) >= task.wanted


def _cannot_beat(best: Design, task: Task, size: Size) -> bool:
    most = _worth(best.hours)
    return most is not None and (_worth(hours(task, size, power.FEWEST)) or 0.0) >= most


def _is_cheaper(one: Design, other: Design) -> bool:
    costs_of = _worth(one.hours), _worth(other.hours)
    if costs_of[0] is None or costs_of[1] is None:
        return False  # nothing is known of what another size saves
    return costs_of[0] < costs_of[1] * (1 - WORTH)


def _worth(hours: Hours) -> float | None:
    return hours.gpu if hours.gpu is not None else hours.cpu


def hours(task: Task, size: Size, seeds: int) -> Hours:
    """Of all runs of a design."""
    return costs.hours(task.pilot, task.configs, size, seeds)


def made_studies(task: Task, studies: int | None = None) -> MadeStudies:
    """Those that settle the seeds of a design."""
    return MadeStudies(task.rule, len(task.pilot.levels), errors_of(task), studies)


def plan(task: Task, made: MadeStudies) -> Planned | OutOfReach | str:
    """The cheapest design, its seeds settled by made studies; in words why there is none."""
    found = cheapest(task)
    if not isinstance(found, Design):
        return found
    pairs = drawn(task, found.size)
    assert not isinstance(pairs, str)
    hardest = min(pairs, key=lambda pair: _closed_power(task, pair, found.seeds))
    seeds, reached = made.settled(hardest, found.seeds, task.wanted)
    if seeds is None:
        return OutOfReach(_least(task, found.size))
    design = replace(found, seeds=seeds, hours=hours(task, found.size, seeds))
    low, high = power.sizes(task.rule, hardest, task.wanted)
    return Planned(design, reached, hardest.at, low, high)


def errors_of(task: Task) -> list[Floats]:
    """The half-widths of the runs' own intervals, by level; empty where runs count alike."""
    quantity = task.effect.quantity
    held = [level.errors.get(quantity) for level in task.pilot.levels]
    own = [np.array([v for v in one or () if v is not None], dtype=float) for one in held]
    return own if all(len(one) for one in own) else []


def _closed_power(task: Task, pair: Drawn, seeds: int) -> float:
    return float(power.closed(task.rule, pair, np.array([float(seeds)])).mean())


def power_at(task: Task, made: MadeStudies, size: Size, seeds: int) -> Power | None:
    """Of the pair that is hardest to decide there; None where too little is known."""
    pairs = drawn(task, size)
    if isinstance(pairs, str):
        return None
    hardest = min(pairs, key=lambda pair: _closed_power(task, pair, seeds))
    return made.power(hardest, seeds)
