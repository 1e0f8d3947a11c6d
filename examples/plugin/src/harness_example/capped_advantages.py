"""A remedy: no token counts for more than an advantage of `limit`, however rare its reward was.

The policy-gradient term of a token with |A| > limit is multiplied by limit / |A|. It acts wherever
such a token is in the batch.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class CappedAdvantages(Weight):
    """The largest advantage that counts in full."""

    limit: Annotated[float, Between(0.001, 1000)] = 1.0
    """Largest size of an advantage that counts in full."""

    def weigh(self, step: StepTokens) -> Weights:
        size = np.abs(step.advantage)
        weight = np.minimum(1.0, self.limit / np.maximum(size, self.limit))
        return Weights(weight, size > self.limit)
