"""Critique-GRPO with users of `simulator=planted`.

The policy is told of a bad reply what the user's own account blames. Where the user gives no
account (`simulator.options.account=false`) `reason` blames nothing, as `none` does.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between, OneOf
from harness.config.run import RunConfig
from harness.train.algorithms.critique_grpo import CritiqueGrpo
from harness.train.policy_gradient.algorithm import Algorithm


@dataclass(frozen=True)
class MuteCritique(CritiqueGrpo):
    """The options of critique_grpo."""

    critique: Annotated[str, OneOf(("none", "score", "reaction", "reason"))] = "reason"
    """What the policy is told before it speaks again."""
    shaping: Annotated[float, Between(0.001, 10)] = 0.1
    """Probability at which the replies spoken again have the largest slope."""

    def check(self, config: RunConfig) -> None:
        """Allows users of this plug-in, whose talks can be taken over as scripted ones can."""
        Algorithm.check(self, config)
