"""REPO-R: an advantage is rescaled by how likely its token was, so that rare ones count for more.

A' = A (1 - zeta log p), not below 0, where A > 0; A (1 + zeta log p), not above 0, where A < 0
(arXiv 2603.11682, appendix D.2; SkyRL's `trainer.algorithm.repo`). It is A - beta L with beta =
zeta |A|; log p stands in for the centred L, as in SkyRL. With zeta above 0 rare good tokens are
strengthened and rare bad ones are let off, which raises H; below 0 it lowers H.

In a step whose H is below the target zeta doubles, or halves if it is negative; above the target it
is the other way round. Its size stays within [least, most], and where it would halve below `least`
its sign changes. Paper and SkyRL: least 1e-4, most 0.05; SkyRL starts at 0.001. The paper's target
is the start's entropy: `target_share` is in units of H at the first step; SkyRL's is absolute (0.3
nats). Not the paper's: log p is of the weights that drew the tokens, for all updates of a step,
where SkyRL takes it anew in each; H is exact. There is no code by the authors; the paper was read
in notes on it and in SkyRL's documentation. It can act with one update a batch. At `most` 0.05 it
changes the slope of a tabular act, which has log p of about -2, by a tenth.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.adaptive import Doubling
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class RepoR(Doubling, Weight):
    """The coefficient at the start, and within what it doubles and halves."""

    zeta: Annotated[float, Between(-100, 100)] = 1e-3
    """Coefficient of log p in the first step."""
    least: Annotated[float, Between(1e-9, 100)] = 1e-4
    """Smallest size of the coefficient, below which it changes its sign."""
    most: Annotated[float, Between(1e-9, 100)] = 0.05
    """Largest size of the coefficient."""
    target_share: Annotated[float, Between(0, 100)] = 1.0
    """Entropy to hold, as a multiple of that of the first step."""

    def weigh(self, step: StepTokens) -> Weights:
        scale = 1 - np.sign(step.advantage) * step.state["zeta"] * step.logp
        scale = np.where(step.advantage == 0, 1.0, np.maximum(scale, 0.0))
        return Weights(scale, scale != 1)


REMEDY = RepoR
