"""W-REINFORCE: what went well counts for less than what went badly.

The policy-gradient term of tokens with A > 0 is multiplied by `positive` (arXiv 2506.01347, section
5; 0.1 as in the authors' code, TianHongZXY/RLVR-Decomposed): punishing what is wrong spreads
probability over all else, rewarding what is right takes it from there. The paper's rewards are 1
and -1 without a baseline; here it is the sign of the group-relative advantage. It can always act,
but with an algorithm whose advantages are never negative it is refused: there it would be a smaller
rate and nothing else.
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
    """Factor of tokens with a positive advantage; 0 leaves negative ones only."""

    def weigh(self, step: StepTokens) -> Weights:
        better = step.advantage > 0
        return Weights(np.where(better, self.positive, 1.0), better)


REMEDY = WReinforce
