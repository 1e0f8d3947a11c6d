"""Clip_V: Clip_B with each token's S compared to its expected value at the same position.

It drops tokens with A < 0 and D > mu sd(D), where D = E S - S, S = p (log p + H) and
E S = sum p^2 (log p + H) over the vocabulary; at most max(1, floor(share * N)) tokens, those with
the largest D (arXiv 2602.03392; agentscope-ai/Trinity-RFT, clipv_advantage.py; mu 8.5 and 1e-4 in
its default_args, mu 2 in its constructor). As there, sd is around the mean of D, but the threshold
is not centred. As in clip_b, dropped tokens still count in the denominator, unlike in the authors'
code. E S needs the whole distribution, which costs a language model another pass over the batch.
Clip_V also acts with one update per batch. It has no effect while no D is that large.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class ClipV(Weight):
    """The threshold at which tokens are dropped, and their largest share."""

    needs_entropies: ClassVar[bool] = True
    needs_negative: ClassVar[bool] = True
    needs_distribution: ClassVar[bool] = True
    mu: Annotated[float, Between(0, 1000)] = 8.5
    """Threshold: a token is dropped if D, its expected minus its actual S, exceeds mu times the
    standard deviation of D."""
    share: Annotated[float, Between(0, 1)] = 1e-4
    """Largest share of tokens to drop."""

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        assert step.mean_discriminant is not None
        discriminant = np.exp(step.logp) * (step.logp + step.entropy_nats)
        difference = step.mean_discriminant - discriminant
        beyond = (step.advantage < 0) & (difference > self.mu * difference.std())
        order = np.argsort(np.where(beyond, -difference, np.inf), kind="stable")
        chosen = np.zeros(len(difference), bool)
        chosen[order[: max(1, int(self.share * len(difference)))]] = True
        return Weights(1.0 - (chosen & beyond), chosen & beyond)


REMEDY = ClipV
