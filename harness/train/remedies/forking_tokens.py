"""Forking tokens: only the tokens of highest entropy give a gradient.

The top `share` of the step's tokens by entropy before the update (arXiv 2506.01939, equation 4;
20%). There are two normalisations. The loss here is the sum over the tokens that are kept, divided
by their number, as in the authors' code (Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR). The paper's
equation divides it by the number of all tokens, and so does TRL's `top_entropy_quantile`: that is
`normalise_by_all`, and makes the gradient 1 / share smaller at an equal rate. Both codes take the
share in each micro-batch, here it is of the step. It can always act.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import top
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ForkingTokens(Weight):
    """Which share is kept, and what the loss is a mean over."""

    needs_entropies: ClassVar[bool] = True
    share: Annotated[float, Between(0, 1)] = 0.2
    """Share of the tokens, by entropy, that give a gradient."""
    normalise_by_all: bool = False
    """Divide by the number of all tokens instead of those that are kept."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        counted, kept = step.rewarded, np.zeros(len(step.logp))
        kept[counted] = top(step.entropy_nats[counted], self.share)
        if self.normalise_by_all or not counted.any():
            return Weights(kept, kept == 0)
        return Weights(kept / kept[counted].mean(), kept == 0)


REMEDY = ForkingTokens
