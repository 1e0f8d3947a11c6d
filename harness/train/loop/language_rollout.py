"""The rollout of a language model's step: conversations, rewards, advantages, loss settings.

It covers everything before the first update: draw and redraw groups, refine conversations if the
algorithm asks for it, compute rewards and advantages, and let the remedies select tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.train.loop.carried import CarriedState
from harness.train.loop.language_batch import TokenBatch, length_penalties, loss_settings
from harness.train.loop.language_critic import actions_of, shared_trunk_term
from harness.train.loop.language_refinement import refine
from harness.train.loop.language_row import LanguageStepState
from harness.train.loop.start import StartModels
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.policy_gradient.rewards import Rewards
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from harness.train.rollout import curriculum
from harness.train.rollout.batch import FilledBatch, fill
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.learning_signal import LearningSignal, learning_signal
from harness.train.rollout.rewards import compute_rewards, penalise
from harness.train.rollout.speaker import TokenTrajectory


def roll_out(
    team: Team, carried: CarriedState, models: StartModels, planning: PlanningTokens, step: int
) -> LanguageStepState:
    """Draw the conversations of `step` with the current weights; prepare its updates."""
    config, stack = carried.config, carried.stack
    filled, drawn = filled_batch(team, carried, step)
    refined = refine(stack, team, filled.conversations, drawn, step)
    trajectories = refined.trajectories
    rewards = compute_rewards(refined.conversations, config.reward)
    shaped, touched = rewards, filled.redrawn
    penalties = length_penalties(stack, trajectories, config)
    if penalties is not None:
        shaped = penalise(rewards, penalties)
        touched = touched | (np.nansum(penalties, axis=1) < 0)
    signal = _learning_signal(carried, team.own, shaped, trajectories, step)
    batch = TokenBatch(
        trajectories,
        signal.advantages,
        touched,
        filled.groups_drawn,
        np.isfinite(rewards.total),
        stack.spread(rewards.total),
        refined.refined_from,
        signal.token_advantages,
        shared_trunk_term(stack.algorithm, signal, trajectories),
    )
    curriculum_metrics = curriculum.metrics(carried.curriculum, filled.conversations)
    return LanguageStepState(
        step,
        refined.conversations,
        batch,
        rewards,
        loss_settings(stack, batch, config, step, models, planning, team.own.limit),
        curriculum_metrics | signal.metrics | refined.metrics,
        signal.critic_batch,
        refined.unrefined,
    )


def filled_batch(
    team: Team, carried: CarriedState, step: int
) -> tuple[FilledBatch, list[TokenTrajectory]]:
    """Draw the conversations of `step` without refinement; return them as text and as tokens."""
    by_attempt: list[list[TokenTrajectory]] = []

    def rollout_once(attempt: int, groups: Sequence[int]) -> list[Conversation]:
        drawn = team.draw(carried.curriculum, step, attempt, groups)
        by_attempt.append(drawn.trajectories)
        return drawn.conversations

    filled = fill(rollout_once, carried.config, carried.stack.most_tries)
    return filled, [by_attempt[attempt][number] for attempt, number in filled.source]


def _learning_signal(
    carried: CarriedState,
    work: RankWork,
    rewards: Rewards,
    trajectories: Sequence[TokenTrajectory],
    step: int,
) -> LearningSignal:
    """Return the advantages; a critic's features are the hidden states replies are drawn from."""
    algorithm, actions = carried.stack.algorithm, None
    if carried.critic is not None:
        by_token = algorithm.has_token_values()
        actions = actions_of(trajectories, work.learner, work.limit, by_token)
    return learning_signal(algorithm, carried.critic, rewards, actions, carried.config, step)
