"""RLOO: a conversation's reward against the mean of the others of its group.

A = r - mean of the others (Kool et al. 2019, for language models arXiv 2402.14740). This baseline
does not depend on the conversation's own reward, so the gradient is unbiased. A is n / (n - 1)
times Dr. GRPO's advantage, here with the mean over tokens. The paper updates once per batch and has
no clip. For further updates the ratio of each token is clipped here, as in verl and SkyRL; TRL
clips the ratio of the whole reply.
"""

from dataclasses import dataclass

from harness.config.algorithm import AlgorithmConfig
from harness.train.policy_gradient.advantages import FloatArray, leave_one_out
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class Rloo(Algorithm):
    """RLOO with its leave-one-out baseline; it has no keys of its own."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: leave_one_out(column, config.group_size))


ALGORITHM = Rloo
