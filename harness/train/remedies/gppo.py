"""GPPO: tokens beyond the clip's bounds keep a gradient, that of the bound.

max(-A r, -A clip(r, (1 - clip_low) r / sg(r), (1 + clip_high) r / sg(r))), sg = stop gradient
(arXiv 2508.07629, section 3.3): the value is that of clipped PPO; the slope is -(1 + clip_high) A
where A > 0 and r > 1 + clip_high, -(1 - clip_low) A where A < 0 and r < 1 - clip_low, else -r A.
The bound `dual_clip`, A < 0 and r > 3, is in the authors' code (suu990901/KlearReasoner), not in
the paper's formula; their supervised loss on correct samples is left out. Nothing happens with one
update a batch.
"""

from dataclasses import dataclass

from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import TokenLoss, kept_in_value_only
from harness.train.algorithms.remedy_roles import Ratio, knob


@dataclass(frozen=True)
class Gppo(Ratio):
    """Gradient-preserving clipping."""

    clip_low: float = knob(0.2, 0, 1)
    clip_high: float = knob(0.28, 0, 100)
    dual_clip: float = knob(3.0, 1, 1e6)

    def surrogate(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        low, high = (self.clip_low, 1.0), (self.clip_high, 1.0)
        return kept_in_value_only(logp, old_logp, advantage, low, high, self.dual_clip)


REMEDY = Gppo
