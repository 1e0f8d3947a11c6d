"""Estimates the CPU hours of a study from measured costs of conversations and evaluations."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.config.run import EvalConfig, PolicyConfig, RunConfig
from harness.config.simulator import IN_PROCESS


@dataclass(frozen=True)
class _TrainingCosts:
    """Costs in CPU seconds: user time on one core of the benchmark machine."""

    start: float
    conversation: float
    """Cost of a conversation, including its share of the update."""
    evaluation: float


MEASURED = {
    "tabular": _TrainingCosts(start=1.7, conversation=1.0e-3, evaluation=0.11),
    "tiny": _TrainingCosts(start=10.0, conversation=82e-3, evaluation=3.3),
}
"""Policy -> costs. tabular: median of 19 runs of 600 steps on medium, from their events, two runs
at once, 2026-11-27. The factor on hard and for null controls is 0.7 to 0.9, on easy 1.1; a first
run, which fills caches, takes half as much again. tiny: start and conversations from a run of 100
steps on easy, 2026-11-23; evaluation from two short runs of 2026-11-28, in which a conversation
took 70 and 80 ms on easy, and 0.8 of that on medium.
"""
SHAPE = (
    "hidden_size", "layers", "attention_heads", "key_value_heads", "head_size",
    "feed_forward_size", "vocabulary", "max_turn_tokens",
)  # fmt: skip
"""Keys that must have their defaults for the measured costs of a language model to apply."""


def cpu_hours(configs: Iterable[RunConfig]) -> float | None:
    """Estimate the CPU hours of all runs; None if the cost of one is unknown."""
    seconds = [_cpu_s(config) for config in configs]
    measured = [value for value in seconds if value is not None]
    return sum(measured) / 3600 if len(measured) == len(seconds) else None


def wall_hours(configs: Iterable[RunConfig], at_once: int) -> float | None:
    """Estimate the hours until all runs are done, `at_once` of them at a time; None if unknown."""
    seconds = [_cpu_s(config) for config in configs]
    busy = [0.0] * at_once
    for duration in seconds:
        if duration is None:
            return None
        heapq.heapreplace(busy, busy[0] + duration)
    return max(busy) / 3600


def sentence(configs: list[RunConfig]) -> str:
    """Describe the planned runs, their CPU hours and the basis of the estimate."""
    steps = sorted({config.trainer.steps for config in configs})
    runs = f"{len(configs)} run{'s' * (len(configs) != 1)} of {', '.join(map(str, steps))} steps"
    hours = cpu_hours(configs)
    if hours is None:
        first = next(config for config in configs if _cpu_s(config) is None)
        configuration = f"policy={first.policy.name}, simulator={first.simulator.name}"
        note = " in this shape, or on a GPU," if first.policy.name in MEASURED else ""
        return f"{runs}: CPU hours not known, since {configuration}{note} has not been measured"
    names = dict.fromkeys(config.policy.name for config in configs)
    basis = "; ".join(_describe(name, len(names) > 1) for name in names)
    return f"{runs}: {about(hours)} ({basis}, measured on one core)"


def about(hours: float) -> str:
    """Return `about 1.3 CPU hours`."""
    return f"about {_format_hours(hours)} CPU hours"


def _describe(name: str, with_name: bool) -> str:
    costs = MEASURED[name]
    text = f"{costs.conversation * 1000:.2g} ms a conversation and {costs.evaluation:.2g} s"
    return f"{f'{name}: ' if with_name else ''}{text} an evaluation"


def _training_costs(policy: PolicyConfig) -> _TrainingCosts | None:
    return MEASURED.get(policy.name) if is_as_measured(policy) else None


def is_as_measured(policy: PolicyConfig) -> bool:
    """Whether the policy has the shape that was measured; always true for tabular ones."""
    has_shape = all(getattr(policy, key) == getattr(PolicyConfig(), key) for key in SHAPE)
    return has_shape or policy.kind == "tabular"


def _cpu_s(config: RunConfig) -> float | None:
    costs = _training_costs(config.policy)
    if costs is None or config.simulator.kind not in IN_PROCESS or config.trainer.gpus:
        return None
    trainer = config.trainer
    seconds = costs.start + evaluations(config) * costs.evaluation * _share_of_an_evaluation(config)
    return seconds + trainer.steps * trainer.conversations * costs.conversation


def evaluations(config: RunConfig) -> int:
    """Return the number of evaluations of a complete run."""
    trainer = config.trainer
    return evaluations_of(trainer.steps, trainer.evaluated_every, config.eval.at_start)


def evaluations_of(steps: int, every: int, at_start: bool) -> int:
    """Return the number of evaluations: at step 1 if `at_start`, then every `every` steps, and at
    the last step. 0 if `every` is 0.
    """
    return math.ceil((steps - 1) / every) + at_start if every else 0


def _share_of_an_evaluation(config: RunConfig) -> float:
    """Return the conversations of an evaluation relative to those of the measured one, which had no
    deaf repetition.
    """
    evaluation, reference = config.eval, EvalConfig()
    levels = max(1, len(set(evaluation.levels))) / len(reference.levels)
    return (1 + evaluation.deaf) * evaluation.users * evaluation.repeats * levels / reference.users


def _format_hours(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 0.1 else f"{hours:.1g}"
