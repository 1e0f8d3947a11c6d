"""Enumerate the run sizes on which a pilot has information."""

from __future__ import annotations

from collections.abc import Iterator

from harness.planning import lengths
from harness.planning.costs import RunSize
from harness.planning.settings import REPEATS, USERS
from harness.planning.spread import OF_EVALUATIONS
from harness.planning.task import PlanningTask

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Users or repeats of an evaluation, as multiples of the pilot's."""
FEWEST_USERS = 16


def own_size(task: PlanningTask) -> RunSize:
    """Return the size of the pilot's runs."""
    level = task.pilot.levels[0]
    return RunSize(level.steps, lengths.evaluations(task, level.steps), level.users, level.repeats)


def first_size(task: PlanningTask) -> RunSize:
    """Return the size of the pilot's runs, updated by typed settings."""
    level, config, steps = task.pilot.levels[0], task.configs[0], lengths.longest(task)
    users = config.eval.users if USERS in task.typed else level.users
    repeats = config.eval.repeats if REPEATS in task.typed else level.repeats
    return RunSize(steps, lengths.evaluations(task, steps), users, repeats)


def sizes(task: PlanningTask) -> Iterator[RunSize]:
    """Yield all sizes on which the pilot has information, that of `first_size` first."""
    first = first_size(task)
    yield first
    for steps in lengths.lengths(task):
        for users in _users(task, first):
            for repeats in _repeats(task, first):
                size = RunSize(steps, lengths.evaluations(task, steps), users, repeats)
                if size != first:
                    yield size


def why_users(task: PlanningTask) -> str | None:
    """Return why users and repeats are kept; None if other numbers are considered."""
    if task.effect.quantity not in OF_EVALUATIONS:
        return f"{task.effect.quantity} depends on more than the reward of an evaluation"
    if task.pilot.column_of(task.effect.quantity) != task.pilot.column:
        return f"decided on users other than those of {task.pilot.column}"
    if any(level.per_user is None for level in task.pilot.levels):
        return "without outcomes.json the effect of an evaluation's size is not known"
    if any(config.simulator.kind not in ("scripted", "second") for config in task.configs):
        return "other numbers of served users were not measured"
    return "typed" if USERS in task.typed else None


def _users(task: PlanningTask, own: RunSize) -> list[int]:
    if why_users(task) is not None:
        return [own.users]
    return sorted({max(FEWEST_USERS, int(own.users * factor)) for factor in FACTORS})


def _repeats(task: PlanningTask, own: RunSize) -> list[int]:
    is_known = all(level.per_conversation is not None for level in task.pilot.levels)
    if why_users(task) not in (None, "typed") or REPEATS in task.typed or not is_known:
        return [own.repeats]
    return sorted({max(1, int(own.repeats * factor)) for factor in FACTORS})
