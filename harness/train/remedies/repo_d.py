"""REPO-D: likely tokens lose advantage in proportion to the step's expected loss of entropy.

A' = A - beta L, where L = log p + H, beta = -zeta dH, and dH = -mean(A L p) is the first-order
change of H by the step's own gradient (arXiv 2603.11682, theorem 1). In a step that would lower H,
likely tokens lose advantage and rare tokens gain, whatever their advantage. zeta changes as in
REPO-R.

The paper's text was not accessible. Notes on it give A' = A - beta L and dH; the reviews of its
submission (ICLR 2026) say that REPO-D sets beta to zeta dH, with zeta clipped between bounds and
doubled or halved towards a target. Chosen here: dH is that of the batch, since the sources do not
say whether it is per batch or per state; the sign, so that a positive zeta raises H; and the
default of `most`. L is centred exactly at each token, by its H before the update, and uses the
weights that drew the tokens, for all updates of a step. REPO-D also acts with one update per batch.
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
    """The initial coefficient, and the bounds within which it doubles and halves."""

    zeta: Annotated[float, Between(-1e6, 1e6)] = 1e-3
    """Coefficient of the expected loss of entropy at the first step."""
    least: Annotated[float, Between(1e-9, 1e6)] = 1e-4
    """Smallest absolute value of the coefficient, which changes sign instead of falling below."""
    most: Annotated[float, Between(1e-9, 1e6)] = 10.0
    """Largest absolute value of the coefficient."""
    target_share: Annotated[float, Between(0, 100)] = 1.0
    """Target entropy, as a multiple of the entropy at the first step."""

    def shift(self, step: StepTokens) -> FloatArray:
        assert step.entropy_nats is not None
        centred = step.logp + step.entropy_nats
        cost = float(np.mean(step.advantage * centred * np.exp(step.logp)))
        shift: FloatArray = -step.state["zeta"] * cost * centred
        return shift


REMEDY = RepoD
