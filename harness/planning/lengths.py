"""Determine the run lengths a design may have, their evaluations, and the difference to expect.

The difference is stated for the end of the pilot's runs. For a shorter run, the pilot's rows at
that step show what share of the difference is present and how much seeds differ.
"""

from __future__ import annotations

import json

import numpy as np

from harness.config.trainer import evaluated_every
from harness.law.compare import random_effects
from harness.law.estimate import numbers
from harness.law.io.clean import FEWEST_POINTS
from harness.law.results import Floats
from harness.planning.pilot import PilotLevel
from harness.planning.settings import EVERY, STEPS
from harness.planning.task import PlanningTask
from harness.study import cost

FIXED_LENGTH = ("staged", "reverse")
"""Curricula whose schedule depends on the length of the run, so that the first part of a run is not
like a shorter run."""
SHARES = np.arange(1, 21) / 20
"""Shares of the whole difference that are tested at an earlier step."""
ONE_SIDED = 0.80
"""Confidence required for a share."""


def longest(task: PlanningTask) -> int:
    """Return the steps of the longest run that is considered: those typed, else the pilot's."""
    typed = STEPS in task.typed
    return task.configs[0].trainer.steps if typed else task.pilot.levels[0].steps


def eval_interval(task: PlanningTask) -> int:
    """Return the steps between evaluations of the pilot; 0 if it had none."""
    level = task.pilot.levels[0]
    held = level.config.get(EVERY)
    return evaluated_every(level.steps, None if held is None else int(held))


def evaluations(task: PlanningTask, steps: int) -> int:
    """Return the number of evaluations of a run of `steps` steps, at the interval of the pilot."""
    return cost.evaluations_of(steps, eval_interval(task), _at_start(task))


def _at_start(task: PlanningTask) -> bool:
    return task.configs[0].eval.at_start


def largest_eval_every(task: PlanningTask) -> int | None:
    """Return the largest trainer.eval_every that gives the longest run enough evaluations.

    None if there is none.
    """
    steps = longest(task)
    counts = {n: cost.evaluations_of(steps, n, _at_start(task)) for n in range(1, steps + 1)}
    enough = [n for n, count in counts.items() if count >= FEWEST_POINTS]
    return max(enough, default=None)


def lengths(task: PlanningTask) -> list[int]:
    """Return the run lengths to consider, in steps, longest first."""
    end = longest(task)
    if why_length(task) is not None:
        return [end]
    return [end, *sorted((step for step in _evaluated_steps(task) if step < end), reverse=True)]


def why_length(task: PlanningTask) -> str | None:
    """Return why the number of steps is kept; None if shorter runs are considered."""
    return "typed" if STEPS in task.typed else why_whole(task)


def why_whole(task: PlanningTask) -> str | None:
    """Return why the pilot has no information on shorter runs; None if it has."""
    if task.effect.quantity in ("ceiling", "a"):
        return "the law is judged over whole runs"
    kinds = {config.curriculum.kind for config in task.configs} & set(FIXED_LENGTH)
    if kinds:
        return f"curriculum={kinds.pop()} is spread over the length of the run"
    if any(config.trainer.stop_when for config in task.configs):
        return "trainer.stop_when ends a run by what the rest of the planned steps may bring"
    if len(task.pilot.levels[0].evaluations) <= FEWEST_POINTS:
        return f"a shorter run would have fewer than {FEWEST_POINTS} evaluations"
    first, *others = (level.values for level in task.pilot.levels)
    held = set(first.get(task.effect.quantity, {}))
    if not all(set(other.get(task.effect.quantity, {})) == held for other in others):
        return "the levels were evaluated at different steps"
    return None


def _evaluated_steps(task: PlanningTask) -> list[int]:
    return sorted(task.pilot.levels[0].values.get(task.effect.quantity, {}))


def seen_at(task: PlanningTask, steps: int) -> int:
    """Return the step of the pilot's runs that stands for the end of a run of `steps` steps."""
    end = task.pilot.levels[0].steps
    held = _evaluated_steps(task)
    if steps >= end or not held:
        return end
    return max((step for step in held if step <= steps), default=held[0])


def share_there(task: PlanningTask, pair: tuple[int, int], steps: int) -> float:
    """Return the share of a pair's difference assumed at the end of a run of `steps` steps."""
    later, baseline = (task.pilot.levels[place] for place in pair)
    at = seen_at(task, steps)
    return share_at(later, baseline, task.effect.quantity, at, task.rule.paired)


def why_not_shown(task: PlanningTask) -> str | None:
    """Return why the pilot has no information on the typed length and eval_every, or None."""
    steps, level, config = longest(task), task.pilot.levels[0], task.configs[0]
    if steps > level.steps:
        return f"the known runs have {level.steps} steps: {steps} steps were not measured"
    own = eval_interval(task)
    if EVERY in task.typed and config.trainer.evaluated_every != own:
        return (
            f"the known runs were evaluated every {own} steps: {_typed_every(task)} was not "
            "measured"
        )
    whole = why_whole(task) if steps < level.steps else None
    if whole is not None:
        return f"runs of {level.steps} steps say nothing about {steps} steps: {whole}"
    return None


def why_too_few(task: PlanningTask) -> str | None:
    """Return why a run of the typed steps cannot be judged; None if it can."""
    steps, config = longest(task), task.configs[0]
    typed = EVERY in task.typed
    between = config.trainer.evaluated_every if typed else eval_interval(task)
    own = cost.evaluations_of(steps, between, _at_start(task))
    if STEPS not in task.typed or own >= FEWEST_POINTS:
        return None
    enough = largest_eval_every(task)
    more = (
        f"use more than {steps} steps"
        if enough is None
        else f"{EVERY}={enough} gives {cost.evaluations_of(steps, enough, _at_start(task))}"
    )
    if typed:
        has = f"a run of {steps} steps with {_typed_every(task)} has {own}"
    else:
        has = f"a run of {steps} steps, evaluated every {between} like the known runs, has {own}"
    return f"a run needs {FEWEST_POINTS} evaluations, and {has}: {more}"


def _typed_every(task: PlanningTask) -> str:
    return f"{EVERY}={json.dumps(task.configs[0].trainer.eval_every)}"


def share_at(
    later: PilotLevel, baseline: PilotLevel, quantity: str, step: int, paired: bool
) -> float:
    """Return the share of the whole difference assumed at `step`, in [0, 1].

    It is the lower limit of the share's one-sided 80% interval (Fieller's, over seeds), and 0 if
    the pilot does not show a difference.
    """
    if step >= later.steps:
        return 1.0
    ends, cuts = (
        [level.at(quantity, at) for level in (later, baseline)] for at in (later.steps, step)
    )
    if paired:
        ends, cuts = ([_by_seed(later, baseline, of)] for of in (ends, cuts))
    whole = _contrast(ends)
    sign = 0.0 if whole is None else float(np.sign(whole[0]))
    if whole is None or not _lower(sign * whole[0], *whole[1:]) > 0:
        return 0.0
    least = 0.0
    for share in SHARES:
        beyond = _contrast([cut - share * end for cut, end in zip(cuts, ends, strict=True)])
        if beyond is None or not _lower(sign * beyond[0], *beyond[1:]) > 0:
            break
        least = float(share)
    return least


def _by_seed(later: PilotLevel, baseline: PilotLevel, of: list[Floats]) -> Floats:
    other = dict(zip(baseline.seeds, of[1], strict=True))
    gaps = [
        value - other[seed] for seed, value in zip(later.seeds, of[0], strict=True) if seed in other
    ]
    return np.array(gaps, dtype=float)


def _contrast(samples: list[Floats]) -> tuple[float, float, float] | None:
    """Return value, error and degrees of freedom of the mean, or of the first minus the second."""
    known = [random_effects.unweighted(list(s[np.isfinite(s)])) for s in samples]
    if len(known) == 1:
        mean = random_effects.mean(known[0])
        return None if mean is None else (mean.value, mean.error, mean.df)
    gap = random_effects.difference(known[0], known[1])
    return None if gap is None else (gap.value, gap.error, gap.df)


def _lower(value: float, error: float, df: float) -> float:
    """Return the lower confidence limit."""
    return value - numbers.t_quantile(ONE_SIDED, df) * error
