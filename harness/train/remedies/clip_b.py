"""Clip_B: tokens with a negative advantage whose penalty would cost the most entropy are dropped.

It drops tokens with A < 0 and S - mean(S) < -mu sd(S), where S = p (log p + H) and mean and sd are
over the step's tokens (arXiv 2602.03392; agentscope-ai/Trinity-RFT, clipb_advantage.py; mu 2.5).
S is minus the first-order change of H when the token's logit is raised: pushing down a rare token,
with S < 0, lowers H. All tokens with A > 0 are kept. In the authors' code dropped tokens do not
count in the loss's denominator. Here they do, so that the gradient of the others is unchanged, and
`remedy/acted` is the dropped share. Tokens are chosen once a step, and Clip_B also acts with one
update per batch. It has no effect while no S is that far from the mean. mu 2.5 suits a model's
vocabulary; for tabular acts set 1.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ClipB(Weight):
    """The threshold at which tokens are dropped."""

    needs_entropies: ClassVar[bool] = True
    needs_negative: ClassVar[bool] = True
    mu: Annotated[float, Between(0, 1000)] = 2.5
    """Threshold: a token is dropped if its S = p (log p + H) is more than mu standard deviations
    below the mean of S."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        discriminant = np.exp(step.logp) * (step.logp + step.entropy_nats)
        deviation = discriminant - discriminant.mean()
        chosen = (step.advantage < 0) & (deviation < -self.mu * discriminant.std())
        return Weights(1.0 - chosen, chosen)


REMEDY = ClipB
