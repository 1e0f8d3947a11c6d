"""From the rewards of a step's batch to the advantages of its replies, with the critic's help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import DivergedError
from harness.train.policy_gradient.advantages import (
    FloatArray,
    IntArray,
    permuted_within_groups,
)
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.critic import Critic, fit_metrics
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.batch import PERMUTATION_STREAM, rng_of

NO_CRITIC: dict[str, float | None] = dict.fromkeys(
    ("value/mean", "value/loss", "value/explained_variance")
)


@dataclass(frozen=True, slots=True)
class Replies:
    """A batch's replies as a critic sees them; arrays have one entry a reply."""

    conversation: IntArray
    reply: IntArray
    """Number of the reply among the policy's own in its conversation, from 0."""
    features: FloatArray
    """What the policy read before the reply, shape (replies, features)."""

    def table(self, values: FloatArray, conversations: int) -> FloatArray:
        """Values of replies as a row a conversation, shape (conversations, MAX_TURNS).

        After its last reply a conversation keeps that reply's value; without one it has 0.
        """
        table = np.full((conversations, MAX_TURNS), np.nan)
        table[self.conversation, self.reply] = values
        table[np.isnan(table[:, 0]), 0] = 0.0
        for turn in range(1, MAX_TURNS):
            ended = np.isnan(table[:, turn])
            table[ended, turn] = table[ended, turn - 1]
        return table


@dataclass(frozen=True, slots=True)
class CriticBatch:
    """What a critic learns from a batch, once the batch's row is on disk."""

    critic: Critic
    features: FloatArray
    """Of the replies with a reward, shape (replies, features)."""
    targets: FloatArray
    """What it learns to expect of them, shape (replies,)."""

    def fitted_critic(self, where: str) -> Critic:
        """The critic after it. Raises DivergedError that begins with `where`."""
        if not len(self.targets):
            return self.critic
        try:
            return self.critic.fitted(self.features, self.targets)
        except DivergedError as error:
            raise DivergedError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True)
class LearningSignal:
    """What a batch teaches."""

    advantages: FloatArray
    """Of each reply, shape (conversations, MAX_TURNS)."""
    critic_batch: CriticBatch | None
    """For the critic; None without one."""
    metrics: dict[str, float | None]
    """The critic's columns, None without one, and those of the algorithm's own."""


def learning_signal(
    algorithm: Algorithm,
    critic: Critic | None,
    rewards: Rewards,
    replies: Replies | None,
    config: RunConfig,
    step: int,
) -> LearningSignal:
    """The advantages of a batch, by a critic that has not learnt from it yet.

    `replies`: needed with a critic. For a null control whole conversations change places, within
    their group where the algorithm has groups, else within the batch.
    """
    values, critic_batch, metrics = None, None, dict(NO_CRITIC)
    if critic is not None and replies is not None:
        expected = critic.values(replies.features)
        values = replies.table(expected, len(rewards.total))
        wanted = algorithm.targets(rewards, values, config.algorithm)
        targets = wanted[replies.conversation, replies.reply]
        known = np.isfinite(targets)
        critic_batch = CriticBatch(critic, replies.features[known], targets[known])
        if known.any():
            metrics = fit_metrics(expected[known], targets[known])
    advantages = algorithm.advantages(rewards, values, config.algorithm)
    metrics |= algorithm.metrics(rewards)
    if config.algorithm.null_control:
        rng = rng_of(config, step, PERMUTATION_STREAM)
        size = config.algorithm.group_size if algorithm.needs_groups else len(rewards.total)
        known = np.isfinite(rewards.total)
        advantages = permuted_within_groups(advantages, known, size, rng)
    return LearningSignal(advantages, critic_batch, metrics)


def denominator(algorithm: Algorithm, config: RunConfig, tokens: int) -> float:
    """The divisor of the summed loss of a batch with `tokens` tokens that carry a gradient.

    Their number (arXiv 2503.14476, section 3.3), or the most that the batch could have: a
    constant, so that a long reply's tokens weigh no less (arXiv 2503.20783, section 3.2).
    """
    if algorithm.denominator(config.algorithm) == "tokens":
        return tokens
    turn = 1 if config.policy.kind == "tabular" else config.policy.max_turn_tokens
    return config.trainer.conversations * config.difficulty.turn_cap * turn
