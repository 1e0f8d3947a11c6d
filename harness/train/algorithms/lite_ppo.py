"""Lite PPO: a conversation's reward against the mean of its group, over the batch's spread.

A = (r - group mean) / (standard deviation of all rewards of the batch), mean over tokens (arXiv
2508.08221). Eight rewards of a group give a poor estimate of the spread, those of a batch do not.
"""

from dataclasses import dataclass

from harness.config.algorithm import AlgorithmConfig
from harness.train.policy_gradient.advantages import FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class LitePpo(Algorithm):
    """Group mean, batch standard deviation."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        size = config.group_size
        return by_reply(
            rewards,
            lambda column: group_relative(column, size, std_floor=0.0, std_over="batch"),
            lambda column: group_relative(column, size, std_floor=None),
        )

    def denominator(self, config: AlgorithmConfig) -> str:
        return "tokens"

    def std_floor(self, config: AlgorithmConfig) -> float | None:
        return 0.0


ALGORITHM = LitePpo
