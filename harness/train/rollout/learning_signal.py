"""Advantages of a batch's actions from its rewards and the critic's values."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
class Actions:
    """The actions that a critic values: a batch's replies or tokens. Arrays have one entry per
    action.
    """

    conversation: IntArray
    place: IntArray
    """Number of the action among the policy's own in its conversation, from 0."""
    features: FloatArray
    """The policy's features before the action, shape (actions, features)."""
    reply: IntArray | None = None
    """The reply of each token, from 0; None if actions are replies. Tokens are in order,
    conversation by conversation."""

    @property
    def most(self) -> int:
        """The largest number of actions in a conversation of the batch; for replies MAX_TURNS."""
        return MAX_TURNS if self.reply is None else int(self.place.max(initial=0)) + 1

    def table(self, values: FloatArray, conversations: int) -> FloatArray:
        """Return the actions' values with one row per conversation, shape (conversations, `most`).

        Entries after the last action repeat its value; a conversation without actions has 0.
        """
        table = np.full((conversations, self.most), np.nan)
        table[self.conversation, self.place] = values
        table[np.isnan(table[:, 0]), 0] = 0.0
        for column in range(1, table.shape[1]):
            missing = np.isnan(table[:, column])
            table[missing, column] = table[missing, column - 1]
        return table

    def rewards(self, rewards: Rewards) -> Rewards:
        """Return the rewards with one column per action; a reply's goes to its last token."""
        if self.reply is None:
            return rewards
        conversations, per_turn = len(rewards.total), None
        if rewards.per_turn is not None:
            per_turn = np.full((conversations, self.most), np.nan)
            per_turn[self.conversation, self.place] = 0.0
            starts = np.diff(self.conversation * MAX_TURNS + self.reply, prepend=-1) != 0
            last = np.append(starts[1:], True)
            row = self.conversation[last]
            per_turn[row, self.place[last]] = rewards.per_turn[row, self.reply[last]]
        tokens = np.bincount(self.conversation, minlength=conversations)
        return replace(rewards, per_turn=per_turn, replies=tokens)

    def mean_by_reply(self, advantages: FloatArray, conversations: int) -> FloatArray:
        """Return the mean over each reply's tokens, shape (conversations, MAX_TURNS).

        It is 0 where there is no reply. `advantages`: shape (actions,).
        """
        assert self.reply is not None
        cell = self.conversation * MAX_TURNS + self.reply
        counts, sums = (
            np.bincount(cell, weights, minlength=conversations * MAX_TURNS)
            for weights in (None, advantages)
        )
        return (sums / np.maximum(counts, 1)).reshape(conversations, MAX_TURNS)


@dataclass(frozen=True, slots=True)
class CriticBatch:
    """A critic and the batch that it learns from once the batch's row is on disk."""

    critic: Critic
    features: FloatArray
    """Features of the actions with a reward, shape (actions, features)."""
    targets: FloatArray
    """The critic's targets for these actions, shape (actions,)."""

    def fitted_critic(self, where: str) -> Critic:
        """Return the critic after learning from the batch.

        Raises DivergedError with a message that begins with `where`.
        """
        if not len(self.targets):
            return self.critic
        try:
            return self.critic.fitted(self.features, self.targets)
        except DivergedError as error:
            raise DivergedError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True)
class ActionValues:
    """A critic's value of each action before it learns from the batch; shapes (actions,)."""

    before: FloatArray
    target: FloatArray
    """The critic's targets; nan for conversations without a reward."""


@dataclass(frozen=True, slots=True)
class LearningSignal:
    """The advantages of a batch, and what its critic learns from it."""

    advantages: FloatArray
    """Advantage of each reply, shape (conversations, MAX_TURNS); the mean over its tokens if these
    differ."""
    token_advantages: FloatArray | None
    """Advantage of each own token, shape (tokens,); None if all tokens of a reply share one."""
    critic_batch: CriticBatch | None
    """The batch for the critic to learn from; None without a critic."""
    values: ActionValues | None
    """The critic's values and targets; None without a critic."""
    metrics: dict[str, float | None]
    """The critic's metrics (None without a critic) and the algorithm's own."""


def learning_signal(
    algorithm: Algorithm,
    critic: Critic | None,
    rewards: Rewards,
    actions: Actions | None,
    config: RunConfig,
    step: int,
) -> LearningSignal:
    """Return the advantages of a batch, from a critic that has not learnt from it yet.

    `actions`: required with a critic. For a null control the advantages of whole conversations are
    permuted, within groups if the algorithm has groups and otherwise within the batch.
    """
    values, critic_batch, action_values, metrics = None, None, None, dict(NO_CRITIC)
    action_rewards = rewards
    if critic is not None and actions is not None:
        action_rewards, expected = actions.rewards(rewards), critic.values(actions.features)
        values = actions.table(expected, len(rewards.total))
        target_table = algorithm.targets(action_rewards, values, config.algorithm)
        targets = target_table[actions.conversation, actions.place]
        has_reward, action_values = np.isfinite(targets), ActionValues(expected, targets)
        critic_batch = CriticBatch(critic, actions.features[has_reward], targets[has_reward])
        if has_reward.any():
            metrics = fit_metrics(expected[has_reward], targets[has_reward])
    advantages = algorithm.advantages(action_rewards, values, config.algorithm)
    metrics |= algorithm.metrics(rewards)
    if config.algorithm.null_control:
        rng = rng_of(config, step, PERMUTATION_STREAM)
        size = config.algorithm.group_size if algorithm.needs_groups else len(rewards.total)
        has_reward = np.isfinite(rewards.total)
        advantages = permuted_within_groups(advantages, has_reward, size, rng)
    if actions is None or actions.reply is None:
        return LearningSignal(advantages, None, critic_batch, action_values, metrics)
    by_token = advantages[actions.conversation, actions.place]
    by_reply = actions.mean_by_reply(by_token, len(advantages))
    return LearningSignal(by_reply, by_token, critic_batch, action_values, metrics)


def denominator(algorithm: Algorithm, config: RunConfig, tokens: int) -> float:
    """Return the divisor of a batch's summed loss; `tokens`: number of tokens with a gradient.

    It is `tokens` (arXiv 2503.14476, section 3.3), or the largest number of tokens that a batch
    could have: a constant, so that tokens of long replies weigh no less (arXiv 2503.20783,
    section 3.2).
    """
    if algorithm.denominator(config.algorithm) == "tokens":
        return tokens
    turn = 1 if config.policy.kind == "tabular" else config.policy.max_turn_tokens
    return config.trainer.conversations * config.most_replies * turn
