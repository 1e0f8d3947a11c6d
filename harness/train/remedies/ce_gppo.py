"""CE-GPPO: as GPPO, with a weight for what lies beyond each of the clip's bounds.

-beta_low (1 - clip_low) r / sg(r) A where A < 0 and r < 1 - clip_low, -beta_high (1 + clip_high)
r / sg(r) A where A > 0 and r > 1 + clip_high, else -r A (arXiv 2509.20712, section 3; sg = stop
gradient). The first holds entropy up when it is small, the second when it is large. Defaults are
those of the paper's 1.5B model; it has beta_low 0.75 at 7B, and the authors' code (Kwai-Klear/
CE-GPPO) falls back to 0.25. `dual_clip` is the code's. Nothing happens with one update a batch.
"""

from dataclasses import dataclass

from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import TokenLoss, kept_in_value_only
from harness.train.algorithms.remedy_roles import Ratio, knob


@dataclass(frozen=True)
class CeGppo(Ratio):
    """Coordinating entropy by gradient-preserving clipping."""

    clip_low: float = knob(0.2, 0, 1)
    clip_high: float = knob(0.2, 0, 100)
    beta_low: float = knob(0.5, 0, 100)
    beta_high: float = knob(1.0, 0, 100)
    dual_clip: float = knob(10.0, 1, 1e6)

    def surrogate(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        low, high = (self.clip_low, self.beta_low), (self.clip_high, self.beta_high)
        return kept_in_value_only(logp, old_logp, advantage, low, high, self.dual_clip)


REMEDY = CeGppo
