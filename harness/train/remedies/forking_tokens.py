"""Forking tokens: only the tokens with the highest entropy give a gradient.

Kept are the top `share` of the step's tokens by entropy before the update (arXiv 2506.01939,
equation 4; 20%). There are two normalisations. By default the loss is the mean over the kept
tokens, as in the authors' code (Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR). With `normalise_by_all`
the sum over the kept tokens is divided by the number of all tokens, as in the paper's equation and
TRL's `top_entropy_quantile`; this makes the gradient smaller by the factor `share` at an equal
rate. Both implementations take the share of each micro-batch; here it is taken of the step. The
remedy always has an effect.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import top
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ForkingTokens(Weight):
    """The share of tokens to keep, and the denominator of the loss."""

    needs_entropies: ClassVar[bool] = True
    share: Annotated[float, Between(0, 1)] = 0.2
    """Share of tokens, those with the highest entropy, that give a gradient."""
    normalise_by_all: bool = False
    """Divide the loss by the number of all tokens instead of kept tokens."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        counted, weights = step.rewarded, np.zeros(len(step.logp))
        weights[counted] = top(step.entropy_nats[counted], self.share)
        if self.normalise_by_all or not counted.any():
            return Weights(weights, weights == 0)
        return Weights(weights / weights[counted].mean(), weights == 0)


REMEDY = ForkingTokens
