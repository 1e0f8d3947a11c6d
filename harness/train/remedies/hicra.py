"""HICRA: what opens a strategy gains more where it went well and loses less where it did not.

A' = A + alpha |A| for planning tokens, A for others (arXiv 2509.03646, v2; alpha 0.2, A without a
standard deviation there: algorithm=dr_grpo). No code of the authors is released. Theirs are spans
of n-grams mined from correct solutions by clustering; here they are those of entropy/planning: the
openings of sentences by which supporters put a strategy, up to three words. It can act with one
update a batch. With policy=tabular it is refused: an act is the choice of a strategy and nothing
else, so every token would be a planning token. It does nothing to a model that opens no sentence
so.
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
    """How much planning tokens gain."""

    needs_planning: ClassVar[bool] = True
    alpha: Annotated[float, Between(0, 1)] = 0.2
    """Share of its size by which the advantage of a planning token is raised."""

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
