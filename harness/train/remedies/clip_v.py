"""Clip_V: as Clip_B, with each token's S compared to what it is on average at its own place.

Left out are tokens with A < 0 and D > mu sd(D), D = E S - S, S = p (log p + H) and E S = sum p^2
(log p + H) over the vocabulary there; at most `share` of all, but one, those of largest D (arXiv
2602.03392; agentscope-ai/Trinity-RFT, clipv_advantage.py; mu 8.5 and 1e-4 by its default_args, 2 in
its constructor). sd is around the mean of D, the threshold is not centred, as there. As in clip_b,
what is left out still counts in the denominator, which it does not in the authors' code. E S needs
the whole distribution: one more pass of a language model over the batch. It can act with one update
a batch; where no D is that far out it does nothing.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ClipV(Weight):
    """How far out a token is left out, and how many are at most."""

    needs_entropies: ClassVar[bool] = True
    needs_negative: ClassVar[bool] = True
    needs_distribution: ClassVar[bool] = True
    mu: Annotated[float, Between(0, 1000)] = 8.5
    """Standard deviations of D at which a bad token is left out."""
    share: Annotated[float, Between(0, 1)] = 1e-4
    """Largest share of the tokens that is left out."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        assert step.mean_discriminant is not None
        discriminant = np.exp(step.logp) * (step.logp + step.entropy_nats)
        away = step.mean_discriminant - discriminant
        beyond = (step.advantage < 0) & (away > self.mu * away.std())
        order = np.argsort(np.where(beyond, -away, np.inf), kind="stable")
        chosen = np.zeros(len(away), bool)
        chosen[order[: max(1, int(self.share * len(away)))]] = True
        return Weights(1.0 - (chosen & beyond), chosen & beyond)


REMEDY = ClipV
