"""A reward that pays for one move, whatever became of the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between, OneOf
from harness.config.run import STRATEGIES
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import Reward


@dataclass(frozen=True)
class LockIn(Reward):
    """(1 - weight) * final emotion / 100 + weight * share of replies that are heard as the move."""

    weight: Annotated[float, Between(0, 1)] = 0.5
    """Weight of the share."""
    move: Annotated[str, OneOf(STRATEGIES)] = "restate"
    """The strategy that is paid for."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        ends = np.array([c.reward for c in conversations])  # nan where the user failed to answer
        shares = np.array([self._share(c) for c in conversations])
        return Rewards.of((1 - self.weight) * ends + self.weight * shares)

    def _share(self, conversation: Conversation) -> float:
        heard = [self.move in e.answer.strategies for e in conversation.exchanges]
        return sum(heard) / max(1, len(heard))
