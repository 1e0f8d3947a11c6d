"""How one step on users of another temperament changes a tabular policy (`eval.adapts_to`).

A copy of the evaluated policy takes one step of the run's algorithm, without remedies, on a batch
of users of that temperament at the run's own level. Held-out users of the temperament meet the
policy before and after this step; then the copy is discarded. The run's random numbers and weights
are not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.config.run import DifficultyConfig, RunConfig
from harness.policy.tabular import TabularPolicy
from harness.train.loop.carried import CarriedState
from harness.train.loop.tabular_evaluation import speakers
from harness.train.loop.tabular_rollout import roll_out
from harness.train.loop.tabular_update import update
from harness.train.metrics import evaluate
from harness.train.metrics.held_out import SEED, levels_of
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.critic import Critic
from harness.train.rollout import curriculum


def adaptation(
    policy: TabularPolicy,
    start: TabularPolicy,
    stack: RemedyStack,
    critic: Critic | None,
    config: RunConfig,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> Metrics:
    """Return adapt/*: mean final emotion / 100 of held-out users of temperament `eval.adapts_to`,
    before and after one step on training users of that temperament.

    Empty if the key is null. `start`: the run's start policy; `step`: the run's step, which keys
    the batch.
    """
    if config.eval.adapts_to is None:
        return {}
    target_config = _with_temperament(config, config.eval.adapts_to)
    adapted = one_step(policy, start, stack, critic, target_config, step, before_turn)
    return {
        "adapt/before": _reward(policy, target_config, before_turn),
        "adapt/after": _reward(adapted, target_config, before_turn),
    }


def one_step(
    policy: TabularPolicy,
    start: TabularPolicy,
    stack: RemedyStack,
    critic: Critic | None,
    config: RunConfig,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> TabularPolicy:
    """Return the policy after one step, without remedies, on a batch at `config`'s own level."""
    bare = RemedyStack(stack.algorithm, stack.config, ())
    carried = CarriedState(curriculum.begin(config, None), bare, critic)
    batch = roll_out(policy, start, carried, step, before_turn).batch()
    return update(policy, batch, bare, config.trainer.updates_per_batch).policy


def _with_temperament(config: RunConfig, temperament: str) -> RunConfig:
    """Return the config of a run at the same level whose users all have one temperament."""
    level: DifficultyConfig = replace(config.difficulty, temperaments=[temperament])
    return replace(
        config,
        seed=SEED,  # no run has it, so these users occur in no training step
        difficulty=level,
        curriculum=replace(config.curriculum, name="none", kind="none"),
        eval=replace(config.eval, levels=[], deaf=False, adapts_to=None),
    )


def _reward(
    policy: TabularPolicy, config: RunConfig, before_turn: Callable[[], None]
) -> float | None:
    """Return the mean final emotion / 100 of the level's held-out users; None if all failed."""
    speak = speakers(policy, config.policy.temperature, before_turn)
    finals = evaluate.finals(config, speak)[levels_of(config).own]
    return float(np.nanmean(finals)) if np.isfinite(finals).any() else None
