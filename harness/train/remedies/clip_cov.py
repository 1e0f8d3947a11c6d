"""Clip-Cov: a few random tokens with a high covariance of log p and advantage are dropped.

It drops max(1, floor(share * N)) of the tokens with low <= Cov_i / sd(A) <= high, where
Cov_i = (log p_i - mean) (A_i - mean) (arXiv 2505.22617, equations 11 and 12; share 2e-4, band 1 to
5). The paper's band is absolute, for advantages of unit spread. Here it is in units of their
standard deviation, since with smaller advantages Clip-Cov would never act. The ratio stays clipped,
at 0 and 2 as in the authors' scripts (issue 16), which the paper does not mention. At the paper's
share a batch of 400 acts loses one. Clip-Cov also acts with one update per batch. Its tokens are
chosen once for all updates of a step; the authors choose anew in each update and exclude tokens
that PPO has clipped.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import token_covariances
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import TokenLoss, clipped_loss
from harness.train.policy_gradient.remedy_roles import Ratio, StepTokens, Weight, Weights


@dataclass(frozen=True)
class ClipCov(Weight, Ratio):
    """The share of tokens to drop, their covariance band, and the ratio's wide clip."""

    share: Annotated[float, Between(0, 1)] = 2e-4
    """Share of tokens to drop."""
    low: Annotated[float, Between(0, 1e6)] = 1.0
    """Smallest covariance of a dropped token, in standard deviations of the advantage."""
    high: Annotated[float, Between(0, 1e6)] = 5.0
    """Largest covariance of a dropped token, in standard deviations of the advantage."""
    clip_low: Annotated[float, Between(0, 1)] = 1.0
    """Lower clip bound of the ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100)] = 1.0
    """Upper clip bound of the ratio: 1 + clip_high."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise ConfigError(
                "remedy.methods.clip_cov.low must not exceed remedy.methods.clip_cov.high "
                f"({self.high:g}), got {self.low:g}"
            )

    def idle(self, config: object) -> None:
        """Return None, since Clip-Cov also acts with one update per batch."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        return clipped_loss(logp, old_logp, advantage, self.clip_low, self.clip_high)

    def weigh(self, step: StepTokens) -> Weights:
        spread = float(step.advantage.std())
        chosen = np.zeros(len(step.logp), bool)
        if spread > 0:
            covariance = token_covariances(step.logp, step.advantage) / spread
            band = np.flatnonzero((covariance >= self.low) & (covariance <= self.high))
            count = max(1, int(self.share * len(chosen)))
            chosen[step.rng.permutation(band)[:count]] = True
        return Weights(1.0 - chosen, chosen)


REMEDY = ClipCov
