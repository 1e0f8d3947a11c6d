"""The state that a run's remedies carry from step to step, and its file in a checkpoint."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from harness.config.run import RunConfig
from harness.errors import DataError
from harness.records import atomic
from harness.train.objective import registry
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.remedy_roles import Adaptive, Bonus, State

FILE = "remedy.json"


def begin(config: RunConfig, checkpoint: Path | None) -> RemedyStack:
    """Return the stack at the start of a run, or as saved in `checkpoint`.

    Raises ConfigError for invalid remedies and DataError for a checkpoint without their state.
    """
    algorithm, remedies = registry.algorithm_of(config), registry.remedies_of(config)
    stack = RemedyStack(algorithm, config.algorithm, remedies)
    if not _carries(stack):
        return stack
    if checkpoint is None:
        return replace(stack, coefficient=stack.bonus.start() if stack.bonus else 0.0)
    coefficient, states = _read(checkpoint / FILE)
    return replace(stack, coefficient=coefficient, states=states)


def _read(path: Path) -> tuple[float, dict[str, State]]:
    """Return the coefficient and the states that `save` wrote. Raises DataError."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        saved_states = saved.get("states", {})  # checkpoints of older versions lack it
        states: dict[str, State] = {
            name: {key: _finite(value) for key, value in saved_states[name].items()}
            for name in saved_states
        }
        return _finite(saved["coefficient"]), states
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: must hold the remedies' numbers, got {error!r}") from error


def _finite(value: object) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ValueError(f"{value!r} in the place of a finite number")


def advance(stack: RemedyStack, entropy_nats: float, selection: TokenSelection) -> RemedyStack:
    """Return the stack after a step; `entropy_nats`: H before the step's update."""
    stack, bonus = replace(stack, states=selection.states), stack.bonus
    if bonus is None:
        return stack
    bonus = bonus.scheduled(selection.progress)
    return replace(stack, coefficient=bonus.next(stack.coefficient, entropy_nats))


def save(stack: RemedyStack, folder: Path) -> None:
    """Write the remedies' state to `folder` for `begin`; nothing if they carry none."""
    if _carries(stack):
        states = {name: dict(state) for name, state in stack.states.items()}
        text = json.dumps({"coefficient": stack.coefficient, "states": states})
        atomic.write_text(folder / FILE, text, durable=False)  # the checkpoint syncs it


def _carries(stack: RemedyStack) -> bool:
    return any(isinstance(remedy, Bonus | Adaptive) for remedy in stack.remedies)
