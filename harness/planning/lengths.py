"""Determine the run lengths a design may have, their evaluations, and the difference to expect.

The difference is stated for the end of the pilot's runs. For a shorter run, the pilot's rows at
that step show what share of the difference is present and how much seeds differ.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from harness.config.trainer import evaluated_every
from harness.errors import ConfigError
from harness.law.compare import random_effects
from harness.law.estimate import numbers
from harness.law.io.clean import FEWEST_POINTS
from harness.law.results import Floats
from harness.planning.pilot import PilotLevel
from harness.planning.settings import EVERY, STEPS
from harness.planning.task import PlanningTask
from harness.study import cost
from harness.train.objective import registry

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
    eval_every = level.config.get(EVERY)
    return evaluated_every(level.steps, None if eval_every is None else int(eval_every))


def evaluations(task: PlanningTask, steps: int) -> int:
    """Return the number of evaluations of a run of `steps` steps, at the interval of the pilot."""
    return cost.evaluations_of(steps, eval_interval(task), _evaluates_at_start(task))


def _evaluates_at_start(task: PlanningTask) -> bool:
    return task.configs[0].eval.at_start


def largest_eval_every(task: PlanningTask) -> int | None:
    """Return the largest trainer.eval_every that gives the longest run enough evaluations.

    None if there is none.
    """
    steps = longest(task)
    counts = {
        n: cost.evaluations_of(steps, n, _evaluates_at_start(task)) for n in range(1, steps + 1)
    }
    enough = [n for n, count in counts.items() if count >= FEWEST_POINTS]
    return max(enough, default=None)


def lengths(task: PlanningTask) -> list[int]:
    """Return the run lengths to consider, in steps, longest first."""
    end = longest(task)
    if why_length(task) is not None:
        return [end]
    shorter = [step for step in _evaluated_steps(task) if step < end and _can_have(task, step)]
    return [end, *sorted(shorter, reverse=True)]


def _can_have(task: PlanningTask, steps: int) -> bool:
    """Return whether runs of every level can have that many steps; reptile's need whole rounds."""
    try:
        for config in task.configs:
            registry.check(replace(config, trainer=replace(config.trainer, steps=steps)))
    except ConfigError:
        return False
    return True


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
    for remedy in (remedy for config in task.configs for remedy in registry.remedies_of(config)):
        if remedy.follows_length():
            return f"remedy {remedy.name()} changes over the length of the run"
    if any(config.trainer.stop_when for config in task.configs):
        return "trainer.stop_when ends a run by what the rest of the planned steps may bring"
    if len(task.pilot.levels[0].evaluations) <= FEWEST_POINTS:
        return f"a shorter run would have fewer than {FEWEST_POINTS} evaluations"
    first, *others = (level.values for level in task.pilot.levels)
    first_steps = set(first.get(task.effect.quantity, {}))
    if not all(set(other.get(task.effect.quantity, {})) == first_steps for other in others):
        return "the levels were evaluated at different steps"
    return None


def _evaluated_steps(task: PlanningTask) -> list[int]:
    return sorted(task.pilot.levels[0].values.get(task.effect.quantity, {}))


def seen_at(task: PlanningTask, steps: int) -> int:
    """Return the step of the pilot's runs that stands for the end of a run of `steps` steps."""
    end = task.pilot.levels[0].steps
    evaluated_steps = _evaluated_steps(task)
    if steps >= end or not evaluated_steps:
        return end
    return max((step for step in evaluated_steps if step <= steps), default=evaluated_steps[0])


def share_there(task: PlanningTask, pair: tuple[int, int], steps: int) -> float:
    """Return the share of a pair's difference assumed at the end of a run of `steps` steps."""
    later, baseline = (task.pilot.levels[index] for index in pair)
    step = seen_at(task, steps)
    return share_at(later, baseline, task.effect.quantity, step, task.rule.paired)


def why_not_shown(task: PlanningTask) -> str | None:
    """Return why the pilot has no information on the typed length and eval_every, or None."""
    steps, level, config = longest(task), task.pilot.levels[0], task.configs[0]
    if steps > level.steps:
        return f"the known runs have {level.steps} steps: {steps} steps were not measured"
    pilot_interval = eval_interval(task)
    if EVERY in task.typed and config.trainer.evaluated_every != pilot_interval:
        return (
            f"the known runs were evaluated every {pilot_interval} steps: {_typed_every(task)} was "
            "not measured"
        )
    reason = why_whole(task) if steps < level.steps else None
    if reason is not None:
        return f"runs of {level.steps} steps say nothing about {steps} steps: {reason}"
    return None


def why_too_few(task: PlanningTask) -> str | None:
    """Return why a run of the typed steps cannot be judged; None if it can."""
    steps, config = longest(task), task.configs[0]
    typed = EVERY in task.typed
    interval = config.trainer.evaluated_every if typed else eval_interval(task)
    at_start = _evaluates_at_start(task)
    count = cost.evaluations_of(steps, interval, at_start)
    if STEPS not in task.typed or count >= FEWEST_POINTS:
        return None
    enough = largest_eval_every(task)
    advice = (
        f"use more than {steps} steps"
        if enough is None
        else f"{EVERY}={enough} gives {cost.evaluations_of(steps, enough, at_start)}"
    )
    if typed:
        shortfall = f"a run of {steps} steps with {_typed_every(task)} has {count}"
    else:
        shortfall = (
            f"a run of {steps} steps, evaluated every {interval} like the known runs, has {count}"
        )
    return f"a run needs {FEWEST_POINTS} evaluations, and {shortfall}: {advice}"


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
        [level.at(quantity, length) for level in (later, baseline)]
        for length in (later.steps, step)
    )
    if paired:
        ends, cuts = ([_by_seed(later, baseline, values)] for values in (ends, cuts))
    whole_contrast = _contrast(ends)
    sign = 0.0 if whole_contrast is None else float(np.sign(whole_contrast[0]))
    if (
        whole_contrast is None
        or not _lower_limit(sign * whole_contrast[0], *whole_contrast[1:]) > 0
    ):
        return 0.0
    least = 0.0
    for share in SHARES:
        remainder = _contrast([cut - share * end for cut, end in zip(cuts, ends, strict=True)])
        if remainder is None or not _lower_limit(sign * remainder[0], *remainder[1:]) > 0:
            break
        least = float(share)
    return least


def _by_seed(later: PilotLevel, baseline: PilotLevel, values: list[Floats]) -> Floats:
    other = dict(zip(baseline.seeds, values[1], strict=True))
    gaps = [
        value - other[seed]
        for seed, value in zip(later.seeds, values[0], strict=True)
        if seed in other
    ]
    return np.array(gaps, dtype=float)


def _contrast(samples: list[Floats]) -> tuple[float, float, float] | None:
    """Return value, error and degrees of freedom of the mean, or of the first minus the second."""
    weighted = [random_effects.unweighted(list(s[np.isfinite(s)])) for s in samples]
    if len(weighted) == 1:
        mean = random_effects.mean(weighted[0])
        return None if mean is None else (mean.value, mean.error, mean.df)
    gap = random_effects.difference(weighted[0], weighted[1])
    return None if gap is None else (gap.value, gap.error, gap.df)


def _lower_limit(value: float, error: float, df: float) -> float:
    """Return the lower confidence limit."""
    return value - numbers.t_quantile(ONE_SIDED, df) * error
