"""Clip_B: bad tokens whose punishment would cost the most entropy give no gradient.

Left out are tokens with A < 0 and S - mean(S) < -mu sd(S), S = p (log p + H), mean and sd over the
step's tokens (arXiv 2602.03392; agentscope-ai/Trinity-RFT, clipb_advantage.py; mu 2.5). S is minus
the first-order change of H where the token's logit is raised: to push down a rare token, with S <
0, lowers H. Tokens with A > 0 are all kept. In the authors' code what is left out does not count in
the loss's denominator; here it does, so that the rest keeps its gradient and `remedy/acted` is the
share left out. It can act with one update a batch, and is chosen once a step. It does nothing while
no such S is that far out; mu 2.5 is of a model's vocabulary, for tabular acts set 1.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ClipB(Weight):
    """How far from the mean a token is left out."""

    needs_entropies: ClassVar[bool] = True
    needs_negative: ClassVar[bool] = True
    mu: Annotated[float, Between(0, 1000)] = 2.5
    """Standard deviations of S below its mean at which a bad token is left out."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        discriminant = np.exp(step.logp) * (step.logp + step.entropy_nats)
        away = discriminant - discriminant.mean()
        chosen = (step.advantage < 0) & (away < -self.mu * discriminant.std())
        return Weights(1.0 - chosen, chosen)


REMEDY = ClipB
