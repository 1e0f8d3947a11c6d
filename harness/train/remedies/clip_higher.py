"""Clip-higher: the upper bound of the ratio's clip is raised, so that unlikely words may grow.

-min(r A, clip(r, 1 - clip_low, 1 + clip_high) A) with clip_high > clip_low (DAPO, arXiv
2503.14476, section 3.1; its bounds 0.2 and 0.28). It does nothing with one update a batch.
"""

from dataclasses import dataclass

from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import TokenLoss, clipped
from harness.train.algorithms.remedy_roles import Ratio, knob


@dataclass(frozen=True)
class ClipHigher(Ratio):
    """PPO's clip with bounds of its own."""

    clip_low: float = knob(0.2, 0, 1)
    clip_high: float = knob(0.28, 0, 100)

    def surrogate(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        return clipped(logp, old_logp, advantage, self.clip_low, self.clip_high)


REMEDY = ClipHigher
