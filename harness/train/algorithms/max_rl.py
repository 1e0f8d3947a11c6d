"""MaxRL: advantages are rewards minus the group's mean, divided by that mean.

A = (r - mean) / mean (arXiv 2602.02710). For rewards of 0 and 1 the expected gradient is that of
log p, the log-likelihood of success, instead of p: a group that succeeds with probability p has the
weight 1 / p. Rewards here lie between 0 and 1. A group whose mean is below `mean_floor` is divided
by the floor, since otherwise one lucky conversation among failures would outweigh the batch.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between
from harness.config.reward import BY_TURN
from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray, group_means, group_relative
from harness.train.policy_gradient.algorithm import Algorithm, refuse_rewards_by_turn
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class MaxRl(Algorithm):
    """Division by the group's mean, and its floor."""

    mean_floor: Annotated[float, Between(0.001, 1)] = 0.05
    """Lower bound of the mean reward that a group's advantages are divided by."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: self._divide_by_mean(column, config.group_size))

    def check(self, config: RunConfig) -> None:
        super().check(config)
        why = "whose advantages are divided by the mean reward, which must not be negative"
        refuse_rewards_by_turn(config, why, ("delta", *BY_TURN))

    def _divide_by_mean(self, column: FloatArray, size: int) -> FloatArray:
        centred = group_relative(column, size, std_floor=None).reshape(-1, size)
        means = np.maximum(np.nan_to_num(group_means(column, size)), self.mean_floor)
        return (centred / means[:, None]).ravel()


ALGORITHM = MaxRl
