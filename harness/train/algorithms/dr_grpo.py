"""Dr. GRPO: a conversation's reward against the mean of its group, as it is.

A = r - mean. The summed loss is divided by a constant, the most tokens that a batch could hold
(arXiv 2503.20783, section 3.2), so neither groups of small spread nor short replies weigh more. At
an equal rate its gradient is smaller than GRPO's, by the group's spread and by the unused share of
that token limit.
"""

from dataclasses import dataclass

from harness.config.algorithm import AlgorithmConfig
from harness.train.policy_gradient.advantages import FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class DrGrpo(Algorithm):
    """Centred rewards and a constant denominator."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        size = config.group_size
        return by_reply(rewards, lambda column: group_relative(column, size, std_floor=None))

    def denominator(self, config: AlgorithmConfig) -> str:
        return "constant"


ALGORITHM = DrGrpo
