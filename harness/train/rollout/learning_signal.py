"""From the rewards of a step's batch to the advantages of its actions, with the critic's help."""

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
    """A batch's actions as a critic sees them: replies, or the tokens of them. Arrays have one
    entry an action.
    """

    conversation: IntArray
    place: IntArray
    """Number of the action among the policy's own in its conversation, from 0."""
    features: FloatArray
    """What the policy read before the action, shape (actions, features)."""
    reply: IntArray | None = None
    """The reply that each token is of, from 0, where tokens are in order, conversation by
    conversation; None where an action is a reply."""

    @property
    def most(self) -> int:
        """The most actions that a conversation of the batch has; MAX_TURNS of replies."""
        return MAX_TURNS if self.reply is None else int(self.place.max(initial=0)) + 1

    def table(self, values: FloatArray, conversations: int) -> FloatArray:
        """Values of actions as a row a conversation, shape (conversations, `most`).

        After its last action a conversation keeps that action's value; without one it has 0.
        """
        table = np.full((conversations, self.most), np.nan)
        table[self.conversation, self.place] = values
        table[np.isnan(table[:, 0]), 0] = 0.0
        for place in range(1, table.shape[1]):
            ended = np.isnan(table[:, place])
            table[ended, place] = table[ended, place - 1]
        return table

    def rewards(self, rewards: Rewards) -> Rewards:
        """The rewards with a column an action: what a reply earns, its last token earns."""
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
        """The mean over each reply's tokens, shape (conversations, MAX_TURNS), 0 where no reply is.

        `advantages`: shape (actions,).
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
    """What a critic learns from a batch, once the batch's row is on disk."""

    critic: Critic
    features: FloatArray
    """Of the actions with a reward, shape (actions, features)."""
    targets: FloatArray
    """What it learns to expect of them, shape (actions,)."""

    def fitted_critic(self, where: str) -> Critic:
        """The critic after it. Raises DivergedError that begins with `where`."""
        if not len(self.targets):
            return self.critic
        try:
            return self.critic.fitted(self.features, self.targets)
        except DivergedError as error:
            raise DivergedError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True)
class ActionValues:
    """What a critic expected of each action before it learnt from the batch; shapes (actions,)."""

    before: FloatArray
    target: FloatArray
    """What it learns to expect; nan where a conversation has no reward."""


@dataclass(frozen=True, slots=True)
class LearningSignal:
    """What a batch teaches."""

    advantages: FloatArray
    """Of each reply, shape (conversations, MAX_TURNS); its tokens' mean where these differ."""
    token_advantages: FloatArray | None
    """Of each own token, shape (tokens,); None where a reply's tokens share its advantage."""
    critic_batch: CriticBatch | None
    """For the critic; None without one."""
    values: ActionValues | None
    """The critic's; None without one."""
    metrics: dict[str, float | None]
    """The critic's columns, None without one, and those of the algorithm's own."""


def learning_signal(
    algorithm: Algorithm,
    critic: Critic | None,
    rewards: Rewards,
    actions: Actions | None,
    config: RunConfig,
    step: int,
) -> LearningSignal:
    """The advantages of a batch, by a critic that has not learnt from it yet.

    `actions`: needed with a critic. For a null control whole conversations change places, within
    their group where the algorithm has groups, else within the batch.
    """
    values, critic_batch, of_actions, metrics = None, None, None, dict(NO_CRITIC)
    earned = rewards
    if critic is not None and actions is not None:
        earned, expected = actions.rewards(rewards), critic.values(actions.features)
        values = actions.table(expected, len(rewards.total))
        wanted = algorithm.targets(earned, values, config.algorithm)
        targets = wanted[actions.conversation, actions.place]
        known, of_actions = np.isfinite(targets), ActionValues(expected, targets)
        critic_batch = CriticBatch(critic, actions.features[known], targets[known])
        if known.any():
            metrics = fit_metrics(expected[known], targets[known])
    advantages = algorithm.advantages(earned, values, config.algorithm)
    metrics |= algorithm.metrics(rewards)
    if config.algorithm.null_control:
        rng = rng_of(config, step, PERMUTATION_STREAM)
        size = config.algorithm.group_size if algorithm.needs_groups else len(rewards.total)
        known = np.isfinite(rewards.total)
        advantages = permuted_within_groups(advantages, known, size, rng)
    if actions is None or actions.reply is None:
        return LearningSignal(advantages, None, critic_batch, of_actions, metrics)
    by_token = advantages[actions.conversation, actions.place]
    by_reply = actions.mean_by_reply(by_token, len(advantages))
    return LearningSignal(by_reply, by_token, critic_batch, of_actions, metrics)


def denominator(algorithm: Algorithm, config: RunConfig, tokens: int) -> float:
    """The divisor of the summed loss of a batch with `tokens` tokens that carry a gradient.

    Their number (arXiv 2503.14476, section 3.3), or the most that the batch could have: a
    constant, so that a long reply's tokens weigh no less (arXiv 2503.20783, section 3.2).
    """
    if algorithm.denominator(config.algorithm) == "tokens":
        return tokens
    turn = 1 if config.policy.kind == "tabular" else config.policy.max_turn_tokens
    return config.trainer.conversations * config.difficulty.turn_cap * turn
