"""Explain why there is no design."""

from __future__ import annotations

import math

from harness.law.compare import random_effects
from harness.planning import lengths, power
from harness.planning.search import OutOfReach
from harness.planning.task import PlanningTask


def why_no_plan(task: PlanningTask) -> tuple[str | None, bool]:
    """Return why there is no plan, or None, and whether a similar pilot would not help either."""
    pilot, quantity = task.pilot, task.effect.quantity
    too_few = lengths.why_too_few(task)
    if too_few is not None:
        return too_few, lengths.largest_eval_every(task) is None
    if pilot.seeds < random_effects.FEWEST_SEEDS:
        return (
            f"a level of the pilot has fewer than {random_effects.FEWEST_SEEDS} seeds, so how much "
            "seeds differ is not known"
        ), False
    if task.effect.is_contrast and quantity not in pilot.tested:
        reason = pilot.why_not.get(quantity, "too few runs have a value")
        return f"the pilot's levels cannot be compared by {quantity}: {reason}", True
    return lengths.why_not_shown(task), False


def pilot_eval_every(task: PlanningTask) -> int | None:
    """Return the trainer.eval_every for a new pilot if the current one has too few evaluations."""
    too_few = lengths.why_too_few(task)
    return None if too_few is None else lengths.largest_eval_every(task)


def out_of_reach(task: PlanningTask, result: OutOfReach) -> str:
    name = task.effect.quantity
    steps = lengths.longest(task)
    if any(lengths.share_there(task, pair, steps) == 0 for pair in task.rule.pairs):
        return f"the pilot does not show the difference in runs of {steps} steps"
    least = "no difference" if result.least is None else f"{name}={_rounded_up(result.least)}"
    return f"{power.MOST} seeds a level would decide {least}, not {task.effect}"


def _rounded_up(value: float) -> str:
    """Return a number above 0 with three digits and at least that large."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / digit) * digit:.3g}"
