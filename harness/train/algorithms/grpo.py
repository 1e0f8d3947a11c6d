"""GRPO: a conversation's reward against the mean of its group, over the group's spread.

A = (r - mean) / max(std, floor), clipped ratios, mean over tokens, no KL term (arXiv 2402.03300,
equations 3 and 4, with the token mean of arXiv 2503.14476). The paper divides by the standard
deviation alone, which is `std_floor=0`. The floor of 0.10 keeps a group whose rewards hardly differ
from being scaled up to full size. `std_over` and `denominator` select variants between GRPO, Dr.
GRPO and Lite PPO.
"""

from dataclasses import dataclass

from harness.config.algorithm import AlgorithmConfig
from harness.train.policy_gradient.advantages import FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class Grpo(Algorithm):
    """Group-relative advantages; its keys are those that all algorithms share."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        size, floor, over = config.group_size, config.std_floor, config.std_over
        return by_reply(
            rewards,
            lambda column: group_relative(column, size, floor, over),
            lambda column: group_relative(column, size, std_floor=None),
        )

    def std_floor(self, config: AlgorithmConfig) -> float | None:
        return config.std_floor


ALGORITHM = Grpo
