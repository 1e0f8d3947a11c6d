"""Expert iteration: imitate the best conversations of each group (arXiv 2403.04642, 1705.08439).

The share `keep` of a group with the highest rewards is kept, as far as these lie `margin` above the
group's mean; the loss is -w log p of what was said in them, w = conversations / kept ones of a full
group, 0 of the others. Nothing pushes the worse ones down, there is no ratio and no clip.

Ours is a round a step: the kept conversations of this batch move the current policy. The paper
samples a whole data set a round, drops duplicates, and fits the start model anew to what all
rounds have kept; that needs a store of conversations beside the checkpoint and a reset of weights
between steps (docs/decisions/2026-11-26-algorithms-of-the-field.md). On-policy and without
duplicates this is REINFORCE with a reward of 1 for the kept and 0 for the others, and no baseline.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between
from harness.config.reward import SHARED
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import TINY, FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm, refuse_rewards_by_turn
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, imitating
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class ExpertIteration(Algorithm):
    """Which conversations are worth imitating."""

    has_ratio: ClassVar[bool] = False
    has_negative: ClassVar[bool] = False
    keep: Annotated[float, Between(0.001, 1)] = 0.125
    """Share of a group's conversations that is imitated, one at least."""
    margin: Annotated[float, Between(0, 1)] = 0.05
    """How far above its group's mean the reward of an imitated conversation lies at least."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: self._kept(column, config.group_size))

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        return imitating(tokens.logp, tokens.advantage)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        refuse_rewards_by_turn(config, "which imitates whole conversations")
        most = 1 - 1 / config.algorithm.group_size
        # a group shares its opening, so that rewards of these modes differ by 1 at most within it
        if config.reward.mode in SHARED and self.margin > most + TINY:
            raise ConfigError(
                "algorithm.options.margin must be 1 - 1/algorithm.group_size at most, here "
                f"{most:.3g}, since no conversation leads its group's mean by more, got "
                f"{self.margin:g}"
            )

    def _kept(self, column: FloatArray, size: int) -> FloatArray:
        """The weight of each conversation, shape (n,); groups are consecutive."""
        count = max(1, round(self.keep * size))
        lead = group_relative(column, size, std_floor=None).reshape(-1, size)
        # the rank of each in its group by reward, of equal ones the first before the others
        place = np.argsort(np.argsort(-lead, axis=1, kind="stable"), axis=1)
        kept = (place < count) & (lead > TINY) & (lead > self.margin - TINY)
        weights: FloatArray = np.where(kept, size / count, 0.0).ravel()
        return weights


ALGORITHM = ExpertIteration
