"""GPPO: tokens beyond a clip bound keep the gradient that they have at the bound.

max(-A r, -A clip(r, (1 - clip_low) r / sg(r), (1 + clip_high) r / sg(r))), sg = stop gradient
(arXiv 2508.07629, section 3.3). The value is that of clipped PPO. The slope is -(1 + clip_high) A
where A > 0 and r > 1 + clip_high, -(1 - clip_low) A where A < 0 and r < 1 - clip_low, else -r A.
The bound `dual_clip`, for A < 0 and r > 3, is in the authors' code (suu990901/KlearReasoner) but
not in the paper's formula. The authors' supervised loss on correct samples is not implemented. GPPO
has no effect with one update per batch.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import TokenLoss, gradient_preserving_clip
from harness.train.policy_gradient.remedy_roles import Ratio


@dataclass(frozen=True)
class Gppo(Ratio):
    """Gradient-preserving clipping."""

    clip_low: Annotated[float, Between(0, 1)] = 0.2
    """Lower clip bound of the ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100)] = 0.28
    """Upper clip bound of the ratio: 1 + clip_high."""
    dual_clip: Annotated[float, Between(1, 1e6)] = 3.0
    """Ratio above which a token with a negative advantage gives no gradient."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        low, high = (self.clip_low, 1.0), (self.clip_high, 1.0)
        return gradient_preserving_clip(logp, old_logp, advantage, low, high, self.dual_clip)


REMEDY = Gppo
