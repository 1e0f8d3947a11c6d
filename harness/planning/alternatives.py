"""Compute what is shown with a plan: other designs, the pilot's differences, power by seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.compare import random_effects
from harness.planning import power, search, sizes
from harness.planning.costs import Hours, RunSize
from harness.planning.pilot import OWN_USERS, PilotLevel
from harness.planning.search import PlannedDesign
from harness.planning.settings import RequestedLevels
from harness.planning.simulated_studies import Power, SimulatedStudies
from harness.planning.task import PlanningTask

SHOWN = (0.5, 1.0, 2.0)
"""Multiples of the stated difference for which the power curve is drawn."""


@dataclass(frozen=True)
class AlternativeDesign:
    """A design to compare with the planned one."""

    what: str
    seeds: int
    size: RunSize
    power: Power | None
    hours: Hours


@dataclass(frozen=True)
class PilotDifference:
    """The difference of a pair in the pilot, with its 95% interval over seeds."""

    later: str
    baseline: str
    value: float
    low: float | None
    high: float | None
    users: str | None = None
    """The users whose reward is compared; None if the quantity is no reward."""
    of_own_users: float | None = None
    """The difference on each level's own users, if `users` are others; None if not known."""


@dataclass(frozen=True)
class CurvePoint:
    """Power at a number of seeds: mean and middle 95% over the uncertainty of the spread."""

    effect: float
    seeds: int
    power: float
    low: float
    high: float


def alternative_designs(
    task: PlanningTask, planned: PlannedDesign, studies: SimulatedStudies
) -> tuple[AlternativeDesign, ...]:
    """Return designs with half and twice the seeds and with the pilot's size, up to power.MOST."""
    design, own_size = planned.design, sizes.own_size(task)
    rows = [
        ("half as many seeds", max(2, design.seeds // 2), design.size),
        ("planned", design.seeds, design.size),
        ("twice as many seeds", 2 * design.seeds, design.size),
        ("the pilot's own size", task.pilot.seeds, own_size),
    ]
    rows = [row for row in rows if row[1] <= power.MOST]
    return tuple(
        AlternativeDesign(
            name,
            seeds,
            size,
            planned.power if name == "planned" else search.power_at(task, studies, size, seeds),
            search.hours(task, size, seeds),
        )
        for name, seeds, size in rows
    )


def pilot_differences(
    task: PlanningTask, requested: RequestedLevels
) -> tuple[PilotDifference, ...]:
    """Return the differences in the pilot, each with its own Welch interval."""
    gaps, name = [], task.effect.quantity
    users = task.pilot.users_of(name)
    for later, baseline in requested.pairs:
        levels = [task.pilot.levels[index] for index in (later, baseline)]
        values = [level.at(name, level.steps) for level in levels]
        samples = [random_effects.unweighted(list(v[np.isfinite(v)])) for v in values]
        if not all(map(len, samples)):
            continue
        gap = random_effects.difference(*samples)
        value = float(samples[0].values.mean() - samples[1].values.mean())
        interval = gap.interval() if gap else None
        gaps.append(
            PilotDifference(
                requested.names[later],
                requested.names[baseline],
                value,
                interval.low if interval else None,
                interval.high if interval else None,
                users,
                None if users in (None, OWN_USERS) else _own_users_difference(levels, name),
            )
        )
    return tuple(gaps)


def _own_users_difference(levels: Sequence[PilotLevel], quantity: str) -> float | None:
    """Return the mean of the first level minus that of the second; None if either is missing."""
    means = []
    for level in levels:
        numbers = [v for v in level.of_own_users.get(quantity, ()) if v is not None]
        if not numbers:
            return None
        means.append(float(np.mean(numbers)))
    return means[0] - means[1]


def directions(
    differences: Sequence[PilotDifference], requested: RequestedLevels
) -> dict[tuple[int, int], int]:
    """Return pair -> sign of its difference, for pairs whose pilot interval excludes 0."""
    index_of = {name: index for index, name in enumerate(requested.names)}
    return {
        (index_of[gap.later], index_of[gap.baseline]): 1 if gap.value > 0 else -1
        for gap in differences
        if gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    }


def power_curve(task: PlanningTask, planned: PlannedDesign) -> list[CurvePoint]:
    """Return the power curve at the planned size, by the closed form."""
    pairs = search.draw_pairs(task, planned.design.size)
    assert not isinstance(pairs, str)
    pair = pairs[planned.pair]
    most = min(power.MOST, max(12, 3 * planned.design.seeds))
    seeds = np.unique(np.linspace(power.FEWEST, most, 40).round())
    points = []
    for multiple in SHOWN:
        scaled = search.scale_difference(pair, multiple)
        power_draws = power.closed_form_power(task.rule, scaled, seeds)
        low, high = np.quantile(power_draws, (0.025, 0.975), axis=0)
        points += [
            CurvePoint(task.effect.value * multiple, int(n), float(p), float(a), float(b))
            for n, p, a, b in zip(seeds, power_draws.mean(axis=0), low, high, strict=True)
        ]
    return points
