"""PPO with a critic: advantages over time, no groups (arXiv 1707.06347 with GAE, 1506.02438).

A step in time is a reply. delta_t = r_t + gamma V_{t+1} - V_t with V = 0 after the last reply, and
A_t = sum over k of (gamma lambda)^k delta_{t+k}; r is 0 but at a conversation's last reply, or the
reply's own part with reward=turns. At lambda = gamma = 1, the defaults, as RLVER's verl has them,
A_t = R - V_t; Turn-PPO (2512.17008) has gamma 0.99 and lambda 0.9. V learns the targets A_t + V_t
after A is taken, with an optimiser and a rate of its own and PPO's clipped loss.

Ours: V is one linear map of what the policy read before a reply (features of the observation, the
hidden state at the last token before it), with no gradient into the policy, so that a run differs
from its control in the baseline alone. verl has a value at each token and a whole second model.
Advantages are whitened over the batch's replies, there over its tokens. `algorithm.group_size=8`
with the same keys meets grpo's users and changes the critic alone.
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
    """How far a reply answers for later ones, and how the critic learns."""

    needs_groups: ClassVar[bool] = False
    gamma: Annotated[float, Between(0, 1)] = 1.0
    """Discount of what comes a reply later."""
    gae_lambda: Annotated[float, Between(0, 1)] = 1.0
    """GAE's lambda: 1 trusts the rewards to come, 0 the critic's value of the next reply."""
    advantage_norm: Annotated[str, OneOf(("batch", "none"))] = "batch"
    """batch: advantages have mean 0 and standard deviation 1 over the batch's replies; none: they
    stay as they are."""
    value_rate: Annotated[float, Between(0, 100)] = 0.02
    """Learning rate of the critic's Adam."""
    value_passes: Annotated[int, Between(1, 1000)] = 10
    """Updates of the critic on each batch."""
    value_clip: Annotated[float | None, Between(0.001, 100)] = 0.5
    """How far a value may move on one batch before its loss is clipped; null for no limit."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        known, count = np.isfinite(rewards.shared), _replies(rewards)
        advantages = self._over_time(
            rewards, np.zeros(_shape(rewards)) if values is None else values
        )
        if self.advantage_norm == "batch":
            mine = advantages[_happened(count) & known[:, None]]
            if not len(mine) or mine.min() == mine.max():  # whose std need not be exactly 0
                return np.zeros_like(advantages)
            advantages = (advantages - mine.mean()) / (mine.std() + WHITENED)
        return np.where(known[:, None], advantages, 0.0)

    def targets(self, rewards: Rewards, values: FloatArray, config: AlgorithmConfig) -> FloatArray:
        returns = self._over_time(rewards, values) + values
        return np.where(np.isfinite(rewards.shared)[:, None], returns, np.nan)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        refuse_rewards_by_turn(config, "whose critic stands for the mean of a turn", ("ctc",))
        if config.reward.return_mix:
            raise ConfigError(
                f"reward.return_mix must be 0 with algorithm.kind={config.algorithm.kind}, whose "
                f"advantages answer for later turns by themselves, got {config.reward.return_mix:g}"
            )

    def critic(self) -> Critic | None:
        return LinearCritic.start(
            self.value_rate, self.value_passes, self.value_clip, "algorithm.options.value_rate"
        )

    def _over_time(self, rewards: Rewards, values: FloatArray) -> FloatArray:
        """GAE before it is whitened, shape (conversations, MAX_TURNS); after a conversation's last
        reply that of its last.
        """
        earned, happened = _earned(rewards), _happened(_replies(rewards))
        advantages = np.zeros_like(earned)
        after, value_after = np.zeros(len(earned)), np.zeros(len(earned))
        for turn in reversed(range(earned.shape[1])):
            now = happened[:, turn]
            delta = earned[:, turn] + self.gamma * value_after - values[:, turn]
            after = np.where(now, delta + self.gamma * self.gae_lambda * after, 0.0)
            value_after = np.where(now, values[:, turn], 0.0)
            advantages[:, turn] = after
        last = np.maximum(happened.sum(axis=1) - 1, 0)
        return np.where(happened, advantages, advantages[np.arange(len(last)), last][:, None])


def _shape(rewards: Rewards) -> tuple[int, int]:
    return len(rewards.shared), MAX_TURNS


def _replies(rewards: Rewards) -> IntArray:
    """How many replies each conversation has, shape (conversations,)."""
    if rewards.replies is None:
        return np.full(len(rewards.shared), MAX_TURNS)
    return rewards.replies


def _happened(replies: IntArray) -> BoolArray:
    """Where a reply was made, shape (conversations, MAX_TURNS)."""
    happened: BoolArray = np.arange(MAX_TURNS) < replies[:, None]
    return happened


def _earned(rewards: Rewards) -> FloatArray:
    """What each reply brings: its own part, and the shared one at the last reply."""
    earned = np.zeros(_shape(rewards))
    if rewards.per_turn is not None:
        earned += rewards.mix * np.nan_to_num(rewards.per_turn)
    last = np.maximum(_replies(rewards) - 1, 0)
    earned[np.arange(len(last)), last] += (1 - rewards.mix) * np.nan_to_num(rewards.shared)
    return earned


ALGORITHM = Ppo
