"""REPO-R: advantages are rescaled by the token's log-probability, in favour of rare tokens.

A' = A (1 - zeta log p), at least 0, where A > 0; A (1 + zeta log p), at most 0, where A < 0
(arXiv 2603.11682, appendix D.2; SkyRL's `trainer.algorithm.repo`). This is A - beta L with
beta = zeta |A| and log p in place of the centred L, as in SkyRL. A positive zeta strengthens rare
good tokens and weakens the penalty of rare bad ones, which raises H; a negative zeta lowers H.

In a step whose H is below the target, zeta doubles, or halves if it is negative; above the target
it does the opposite. Its size stays within [least, most]; where it would halve below `least`, its
sign changes. Paper and SkyRL have least 1e-4 and most 0.05; SkyRL starts at 0.001. The paper's
target is the initial entropy, so `target_share` is a multiple of H at the first step; SkyRL's
target is absolute (0.3 nats). Unlike in the paper, log p is that of the weights that drew the
tokens for all updates of a step (SkyRL recomputes it in each), and H is exact. The authors released
no code; notes on the paper and SkyRL's documentation were the sources. REPO-R also acts with one
update per batch. With `most` 0.05 it changes the slope of a tabular act, whose log p is about -2,
by a tenth.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.adaptive import Doubling
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class RepoR(Doubling, Weight):
    """The initial coefficient, and the bounds within which it doubles and halves."""

    zeta: Annotated[float, Between(-100, 100)] = 1e-3
    """Coefficient of log p at the first step."""
    least: Annotated[float, Between(1e-9, 100)] = 1e-4
    """Smallest absolute value of the coefficient, which changes sign instead of falling below."""
    most: Annotated[float, Between(1e-9, 100)] = 0.05
    """Largest absolute value of the coefficient."""
    target_share: Annotated[float, Between(0, 100)] = 1.0
    """Target entropy, as a multiple of the entropy at the first step."""

    def weigh(self, step: StepTokens) -> Weights:
        scale = 1 - np.sign(step.advantage) * step.state["zeta"] * step.logp
        scale = np.where(step.advantage == 0, 1.0, np.maximum(scale, 0.0))
        return Weights(scale, scale != 1)


REMEDY = RepoR
