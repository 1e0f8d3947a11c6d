"""An algorithm: conversations earn by their rank in the group, whatever the distances.

A = (share of the group that is worse - share that is better) * scale, so that one lucky user does
not outweigh the rest. The loss is GRPO's clipped one.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class Ranked(Algorithm):
    """Advantages by rank."""

    scale: Annotated[float, Between(0.001, 1000)] = 1.0
    """Advantage of a conversation that is better than all others of its group."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: self._ranks(column, config.group_size))

    def _ranks(self, column: FloatArray, group_size: int) -> FloatArray:
        """Advantages of rewards of shape (n,) in consecutive groups; nan counts for nothing."""
        grouped = column.reshape(-1, group_size)
        above = grouped[:, :, None] > grouped[:, None, :]
        ranks: FloatArray = (above.sum(axis=2) - above.sum(axis=1)) / max(1, group_size - 1)
        return self.scale * ranks.ravel().astype(np.float64)
