"""PPO with a critic and GAE, without groups (arXiv 1707.06347; GAE: 1506.02438).

A time step is a reply, or a token with `value_per=token`. delta_t = r_t + gamma V_{t+1} - V_t
with V = 0 after the last step, and A_t = sum over k of (gamma lambda)^k delta_{t+k}. r is nonzero
only at a conversation's last step, or with reward=turns at each reply's last step. The defaults
lambda = gamma = 1, as in RLVER's verl, give A_t = R - V_t; Turn-PPO (2512.17008) has gamma 0.99 and
lambda 0.9. V learns the targets A_t + V_t after A is computed, with its own optimiser and rate and
PPO's clipped loss.

Here V is a linear map of the policy's features before the action: the features of the observation,
or the hidden state from which a reply's first token, or each token, is drawn. No gradient flows
into the policy unless `value_coef` asks for one, so by default a run differs from grpo's in the
baseline alone. With `value_coef` the loss adds value_coef times the mean of the clipped value
losses with the map held fixed, so policy and critic share a trunk; the map keeps its own optimiser.
verl has a second model with a value at each token. Advantages are whitened over all actions with a
value. `algorithm.group_size=8` with the same keys meets grpo's users and changes only the critic.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between, OneOf
from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.policy_gradient.algorithm import Algorithm, refuse_rewards_by_turn
from harness.train.policy_gradient.critic import Critic, LinearCritic
from harness.train.policy_gradient.losses import BoolArray
from harness.train.policy_gradient.rewards import Rewards

WHITENED = 1e-8
"""Added to the standard deviation that advantages are divided by, as in verl."""


@dataclass(frozen=True)
class Ppo(Algorithm):
    """The credit of a reply for later rewards, and how the critic learns."""

    needs_groups: ClassVar[bool] = False
    gamma: Annotated[float, Between(0, 1)] = 1.0
    """Discount factor per time step."""
    gae_lambda: Annotated[float, Between(0, 1)] = 1.0
    """GAE's lambda: 1 relies on the rewards that follow, 0 on the critic's value of the next time
    step."""
    advantage_norm: Annotated[str, OneOf(("batch", "none"))] = "batch"
    """batch: normalise advantages to mean 0 and standard deviation 1 over the batch's replies (or
    tokens, with value_per=token); none: leave them as they are."""
    value_rate: Annotated[float, Between(0, 100)] = 0.02
    """Learning rate of the critic, which uses Adam."""
    value_passes: Annotated[int, Between(1, 1000)] = 10
    """Critic updates per batch."""
    value_clip: Annotated[float | None, Between(0.001, 100)] = 0.5
    """Largest change of a value on one batch before its loss is clipped; null: no limit."""
    value_per: Annotated[str, OneOf(("reply", "token"))] = "reply"
    """Time step, which the critic assigns a value to: reply, or token as in RLVER (language models
    only)."""
    value_coef: Annotated[float, Between(0, 100)] = 0.0
    """Coefficient of the critic's loss in the policy's loss; both then share a trunk (language
    models only). 0: the critic sends no gradient into the policy."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        has_reward = np.isfinite(rewards.shared)
        if values is None:
            values = np.zeros((len(has_reward), MAX_TURNS))
        advantages = self._gae(rewards, values)
        if self.advantage_norm == "batch":
            valued = advantages[_step_mask(rewards, values.shape[1]) & has_reward[:, None]]
            if not len(valued) or valued.min() == valued.max():  # their std may not be exactly 0
                return np.zeros_like(advantages)
            advantages = (advantages - valued.mean()) / (valued.std() + WHITENED)
        return np.where(has_reward[:, None], advantages, 0.0)

    def targets(self, rewards: Rewards, values: FloatArray, config: AlgorithmConfig) -> FloatArray:
        returns = self._gae(rewards, values) + values
        return np.where(np.isfinite(rewards.shared)[:, None], returns, np.nan)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        if self.has_token_values() and config.policy.kind == "tabular":
            raise ConfigError(
                "algorithm.options.value_per must be reply with policy.kind=tabular, which samples "
                "whole replies, got token"
            )
        if self.value_coef and config.policy.kind == "tabular":
            raise ConfigError(
                "algorithm.options.value_coef must be 0 with policy.kind=tabular, which has no "
                f"trunk to share with a critic, got {self.value_coef:g}"
            )
        refuse_rewards_by_turn(config, "whose critic replaces the mean of a turn", ("ctc",))
        if config.reward.return_mix:
            raise ConfigError(
                f"reward.return_mix must be 0 with algorithm.kind={config.algorithm.kind}, whose "
                f"advantages include later turns already, got {config.reward.return_mix:g}"
            )

    def critic(self) -> Critic | None:
        return LinearCritic.start(
            self.value_rate, self.value_passes, self.value_clip, "algorithm.options.value_rate"
        )

    def has_token_values(self) -> bool:
        return self.value_per == "token"

    def value_coefficient(self) -> float:
        return self.value_coef

    def _gae(self, rewards: Rewards, values: FloatArray) -> FloatArray:
        """Return GAE before whitening, in the shape of `values`.

        Entries after a conversation's last step repeat the advantage of that step.
        """
        step_rewards = _step_rewards(rewards, values.shape)
        happened = _step_mask(rewards, values.shape[1])
        advantages = np.zeros_like(step_rewards)
        advantage, next_value = np.zeros(len(step_rewards)), np.zeros(len(step_rewards))
        for step in reversed(range(step_rewards.shape[1])):
            is_step = happened[:, step]
            delta = step_rewards[:, step] + self.gamma * next_value - values[:, step]
            advantage = np.where(is_step, delta + self.gamma * self.gae_lambda * advantage, 0.0)
            next_value = np.where(is_step, values[:, step], 0.0)
            advantages[:, step] = advantage
        last = np.maximum(happened.sum(axis=1) - 1, 0)
        return np.where(happened, advantages, advantages[np.arange(len(last)), last][:, None])


def _steps(rewards: Rewards) -> IntArray:
    """Return the number of time steps in each conversation, shape (conversations,)."""
    if rewards.replies is None:
        return np.full(len(rewards.shared), MAX_TURNS)
    return rewards.replies


def _step_mask(rewards: Rewards, count: int) -> BoolArray:
    """Return the mask of time steps that happened, shape (conversations, `count`)."""
    happened: BoolArray = np.arange(count) < _steps(rewards)[:, None]
    return happened


def _step_rewards(rewards: Rewards, shape: tuple[int, ...]) -> FloatArray:
    """Return the reward of each time step, of `shape`: its own part, plus the shared part at the
    conversation's last step.
    """
    step_rewards = np.zeros(shape)
    if rewards.per_turn is not None:
        step_rewards += rewards.mix * np.nan_to_num(rewards.per_turn)
    last = np.maximum(_steps(rewards) - 1, 0)
    step_rewards[np.arange(len(last)), last] += (1 - rewards.mix) * np.nan_to_num(rewards.shared)
    return step_rewards


ALGORITHM = Ppo
