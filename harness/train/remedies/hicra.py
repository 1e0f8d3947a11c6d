"""HICRA: planning tokens, which open a strategy, get a higher advantage.

A' = A + alpha |A| for planning tokens, A for others (arXiv 2509.03646, v2; alpha 0.2; its A is not
divided by a standard deviation: algorithm=dr_grpo). The authors released no code. Their planning
tokens are spans of n-grams mined from correct solutions by clustering. Here they are the planning
tokens of entropy/planning: the first words, up to three, of sentences by which supporters express a
strategy. HICRA also acts with one update per batch. It is refused with policy=tabular, where an act
is nothing but the choice of a strategy, so every token would be a planning token. It has no effect
on a model that never opens a sentence this way.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class Hicra(Weight):
    """The gain of planning tokens."""

    needs_planning: ClassVar[bool] = True
    alpha: Annotated[float, Between(0, 1)] = 0.2
    """Increase of a planning token's advantage, as a share of its absolute value."""

    def check(self, config: RunConfig) -> None:
        if config.policy.kind == "tabular":
            raise ConfigError(
                "policy.kind must be that of a language model for hicra, which tells planning "
                "tokens from others where an act is nothing but planning, got tabular"
            )

    def weigh(self, step: StepTokens) -> Weights:
        assert step.planning is not None
        raised = 1 + self.alpha * np.sign(step.advantage)
        return Weights(np.where(step.planning, raised, 1.0), step.planning)


REMEDY = Hicra
