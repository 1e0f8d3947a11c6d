"""REINFORCE with a baseline (Williams, Machine Learning 8, 1992): loss -A log p, without groups or
clipping.

A = R - b for a reward R. The baseline b is the mean reward of the batch or, with `critic_rate`, a
linear critic's value of the reply, from the policy's features before it. No groups are needed:
`group_size=1` draws as many users as conversations. The loss is written as -A r with the ratio r to
the weights that drew the tokens. In the first update on a batch its gradient is that of -A log p,
in later ones the importance-weighted gradient. With a batch of n conversations and its mean as the
baseline, A is 1 - 1/n times the advantage against a leave-one-out baseline.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between, Unless
from harness.config.reward import SHARED
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.critic import Critic, LinearCritic
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, unclipped
from harness.train.policy_gradient.rewards import Rewards, by_reply

WITH_CRITIC = Unless("algorithm.options.critic_rate", (None,), "there is no critic")


@dataclass(frozen=True)
class Reinforce(Algorithm):
    """The baseline, and how a critic learns it if there is one."""

    needs_groups: ClassVar[bool] = False
    critic_rate: Annotated[float | None, Between(0, 100)] = None
    """Learning rate of the critic, which uses Adam. null: no critic; the baseline is the batch's
    mean reward."""
    critic_passes: Annotated[int, Between(1, 1000), WITH_CRITIC] = 10
    """Critic updates per batch."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        if values is not None:
            has_reward = np.isfinite(rewards.shared)[:, None]
            return np.where(has_reward, np.nan_to_num(rewards.shared)[:, None] - values, 0.0)
        return by_reply(rewards, _centre)

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        return unclipped(tokens.logp, tokens.old_logp, tokens.advantage)

    def critic(self) -> Critic | None:
        if self.critic_rate is None:
            return None
        return LinearCritic.start(self.critic_rate, self.critic_passes)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        if self.critic_rate is not None and config.reward.mode not in SHARED:
            raise ConfigError(
                "algorithm.options.critic_rate must be null unless reward.mode is one of "
                f"{', '.join(SHARED)}, whose rewards all replies share, got {config.reward.mode}"
            )


def _centre(column: FloatArray) -> FloatArray:
    """Return rewards minus their mean; 0 for missing rewards."""
    has_reward = np.isfinite(column)
    mean = column[has_reward].mean() if has_reward.any() else 0.0
    return np.where(has_reward, np.nan_to_num(column) - mean, 0.0)


ALGORITHM = Reinforce
