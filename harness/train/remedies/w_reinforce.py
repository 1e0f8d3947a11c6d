"""W-REINFORCE: tokens with a positive advantage get a smaller weight.

The policy-gradient term of tokens with A > 0 is multiplied by `positive` (arXiv 2506.01347, section
5; 0.1 as in the authors' code, TianHongZXY/RLVR-Decomposed). Punishing wrong answers spreads
probability over all others, while rewarding right ones concentrates it. The paper's rewards are 1
and -1 without a baseline; here the sign is that of the advantage. The remedy always has an effect.
It is refused for algorithms without negative advantages, where it would only be a smaller learning
rate.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class WReinforce(Weight):
    """The weight of tokens with a positive advantage; 0 leaves negative ones only."""

    needs_negative: ClassVar[bool] = True
    positive: Annotated[float, Between(0, 1)] = 0.1
    """Weight of tokens with a positive advantage; 0 leaves only negative ones."""

    def weigh(self, step: StepTokens) -> Weights:
        better = step.advantage > 0
        return Weights(np.where(better, self.positive, 1.0), better)


REMEDY = WReinforce
