"""REPO-D: likely tokens lose advantage in proportion to the entropy that the step would cost.

A' = A - beta L, L = log p + H, with beta = -zeta dH, dH = -mean(A L p): the first-order change of H
by the step's own gradient (arXiv 2603.11682, theorem 1). A step that would lower H takes from what
was likely and gives to what was rare, whatever its advantage. zeta is moved as REPO-R's is.

The paper's text could not be read. That A' = A - beta L and dH are its own is in notes on it; that
REPO-D sets beta to zeta dH, with zeta clipped between bounds and doubled or halved towards a
target, is in the reviews of its submission (ICLR 2026). Ours: dH is that of the batch, since it is
not said whether the paper's is one a batch or one a state; the sign, so that zeta above 0 raises H;
the default of `most`. L is centred exactly at each token, by its H before the update, and taken
from the weights that drew the tokens, for all updates of a step. It can act with one update a
batch.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from harness.config.ranges import Between
from harness.train.policy_gradient.adaptive import Doubling
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.remedy_roles import Shift, StepTokens


@dataclass(frozen=True)
class RepoD(Doubling, Shift):
    """The coefficient at the start, and within what it doubles and halves."""

    zeta: Annotated[float, Between(-1e6, 1e6)] = 1e-3
    """Factor of the expected loss of entropy in the first step."""
    least: Annotated[float, Between(1e-9, 1e6)] = 1e-4
    """Smallest size of the factor, below which it changes its sign."""
    most: Annotated[float, Between(1e-9, 1e6)] = 10.0
    """Largest size of the factor."""
    target_share: Annotated[float, Between(0, 100)] = 1.0
    """Entropy to hold, as a multiple of that of the first step."""

    def shift(self, step: StepTokens) -> FloatArray:
        assert step.entropy_nats is not None
        centred = step.logp + step.entropy_nats
        cost = float(np.mean(step.advantage * centred * np.exp(step.logp)))
        shift: FloatArray = -step.state["zeta"] * cost * centred
        return shift


REMEDY = RepoD
