"""CE-GPPO: GPPO with a weight for the gradient of tokens beyond each clip bound.

-beta_low (1 - clip_low) r / sg(r) A where A < 0 and r < 1 - clip_low, -beta_high (1 + clip_high)
r / sg(r) A where A > 0 and r > 1 + clip_high, else -r A (arXiv 2509.20712, section 3; sg = stop
gradient). The first term keeps entropy up if beta_low is small, the second if beta_high is large.
The defaults are those of the paper's 1.5B model; the 7B model has beta_low 0.75, and the authors'
code (Kwai-Klear/CE-GPPO) defaults to 0.25. `dual_clip` is taken from that code. CE-GPPO has no
effect with one update per batch.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import TokenLoss, gradient_preserving_clip
from harness.train.policy_gradient.remedy_roles import Ratio


@dataclass(frozen=True)
class CeGppo(Ratio):
    """Coordinating entropy by gradient-preserving clipping."""

    clip_low: Annotated[float, Between(0, 1)] = 0.2
    """Lower clip bound of the ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100)] = 0.2
    """Upper clip bound of the ratio: 1 + clip_high."""
    beta_low: Annotated[float, Between(0, 100)] = 0.5
    """Weight of the gradient of tokens below the lower bound."""
    beta_high: Annotated[float, Between(0, 100)] = 1.0
    """Weight of the gradient of tokens above the upper bound."""
    dual_clip: Annotated[float, Between(1, 1e6)] = 10.0
    """Ratio above which a token with a negative advantage gives no gradient."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        low, high = (self.clip_low, self.beta_low), (self.clip_high, self.beta_high)
        return gradient_preserving_clip(logp, old_logp, advantage, low, high, self.dual_clip)


REMEDY = CeGppo
