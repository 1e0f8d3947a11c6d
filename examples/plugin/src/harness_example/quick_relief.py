"""A reward: the final emotion, less a cost for each reply that it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import Reward, Rewards


@dataclass(frozen=True)
class QuickRelief(Reward):
    """The final emotion / 100, minus a cost for each reply."""

    cost: Annotated[float, Between(0, 1)] = 0.02
    """Cost of one reply."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        ends = np.array([c.reward for c in conversations])  # nan where the user failed to answer
        replies = np.array([len(c.exchanges) for c in conversations])
        return Rewards.of(ends - self.cost * replies)
