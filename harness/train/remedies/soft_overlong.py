"""Soft overlong punishment: replies near the token limit earn less.

The punishment is 0 up to L - C tokens, then (L - C - tokens) / C down to -1 at L, where
L = policy.max_turn_tokens and C = buffer * L (DAPO, arXiv 2503.14476, equation 13; its buffer is
4096 of 20480). The paper adds it to rewards of -1 and 1; rewards here span 1, hence the weight of
one half. It enters the advantages only: as the mean over a conversation's replies, and for each
reply where replies have their own rewards. `reward` does not contain it. It has no effect on
tabular, which has no tokens, and none if no reply comes near the limit.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.remedy_roles import Penalty


@dataclass(frozen=True)
class SoftOverlong(Penalty):
    """Where the punishment begins, and its weight."""

    buffer: Annotated[float, Between(0.001, 1)] = 0.2
    """Share of the token limit, just below the limit, in which the punishment grows."""
    weight: Annotated[float, Between(0, 1e6)] = 0.5
    """Punishment of a reply at the limit, in units of reward."""

    def idle(self, config: RunConfig) -> str | None:
        if config.policy.kind != "tabular":
            return None
        return (
            "policy.kind must be that of a language model for soft_overlong, which does nothing to "
            "a policy without tokens, got tabular"
        )

    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray:
        width = self.buffer * limit
        penalty: FloatArray = np.clip((limit - width - tokens) / width, -1, 0)
        return self.weight * penalty


REMEDY = SoftOverlong
