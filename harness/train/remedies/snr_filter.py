"""SNR filter: groups whose rewards differ little are left out of the step.

Kept are the fewest groups, by falling standard deviation of their rewards, whose sum of these
reaches `share` of the batch's, less `slack`; groups without any are left out (RAGEN-2, arXiv
2604.06268; RAGEN's `rollout_filter`, top_p linear: 0.9 and 0.01). The paper speaks of the variance;
`reward_variance` in the code is the standard deviation, which is used here: of the population,
where theirs divides by n - 1, so that sums differ by one factor. If rewards differ by less than
`slack` in all, nothing is kept, as there, and the step teaches nothing. The loss is a mean over
what is kept, as in the authors' code, where the groups are gone; with `normalise_by_all` over all
tokens. What was drawn is drawn: it costs as much as before (dynamic_sampling draws again). It needs
an algorithm that compares groups. It can act with one update a batch, and not with one group.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class SnrFilter(Weight):
    """How much of the batch's spread is kept, and what the loss is a mean over."""

    needs_groups: ClassVar[bool] = True
    share: Annotated[float, Between(0, 1)] = 0.9
    """Share of the sum of the groups' standard deviations that is kept."""
    slack: Annotated[float, Between(0, 1e6)] = 0.01
    """What may be missing from that share, in units of reward."""
    normalise_by_all: bool = False
    """Divide by the number of all tokens instead of those that are kept."""

    def idle(self, config: RunConfig) -> str | None:
        if config.trainer.conversations > config.algorithm.group_size:
            return None
        return (
            "trainer.conversations must be that of two groups or more, since snr_filter keeps the "
            f"only one, got {config.trainer.conversations}"
        )

    def weigh(self, step: StepTokens) -> Weights:
        assert step.spread is not None
        assert step.group is not None
        _, first = np.unique(step.group, return_index=True)
        kept = self.keeps(step.spread[first])[step.group]
        if self.normalise_by_all or not kept.any():
            return Weights(kept.astype(np.float64), ~kept)
        return Weights(kept / float(kept[step.rewarded].mean()), ~kept)

    def keeps(self, spread: FloatArray) -> BoolArray:
        """Which groups are kept, by the standard deviations of their rewards, shape (groups,)."""
        order = np.argsort(-spread, kind="stable")
        before = np.cumsum(spread[order]) - spread[order]
        kept = np.zeros(len(spread), bool)
        kept[order] = (before < self.share * spread.sum() - self.slack) & (spread[order] > 0)
        return kept


REMEDY = SnrFilter
