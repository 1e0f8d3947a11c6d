"""Clip-higher: the ratio has a higher upper clip bound, so that unlikely tokens can gain
probability.

-min(r A, clip(r, 1 - clip_low, 1 + clip_high) A) with clip_high > clip_low (DAPO, arXiv
2503.14476, section 3.1; its bounds 0.2 and 0.28). It has no effect with one update per batch.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import TokenLoss, clipped_loss
from harness.train.policy_gradient.remedy_roles import Ratio


@dataclass(frozen=True)
class ClipHigher(Ratio):
    """PPO's clip with separate bounds."""

    clip_low: Annotated[float, Between(0, 1)] = 0.2
    """Lower clip bound of the ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100)] = 0.28
    """Upper clip bound of the ratio: 1 + clip_high."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        return clipped_loss(logp, old_logp, advantage, self.clip_low, self.clip_high)


REMEDY = ClipHigher
