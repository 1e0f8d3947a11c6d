"""SNR filter: groups whose rewards differ little are dropped.

Groups are kept in falling order of the standard deviation of their rewards until the sum of these
reaches `share` of the batch's sum, minus `slack`; groups with none are dropped (RAGEN-2, arXiv
2604.06268; RAGEN's `rollout_filter`, top_p linear: 0.9 and 0.01). The paper speaks of the variance,
but `reward_variance` in its code is the standard deviation, which is used here: of the population,
where the code divides by n - 1, so that sums differ by a constant factor. If all rewards together
differ by less than `slack`, nothing is kept, as in the code, and the step learns nothing. The loss
is a mean over the kept tokens, as in the authors' code, which removes the other groups; with
`normalise_by_all` it is divided by the number of all tokens. No groups are drawn again, unlike in
dynamic_sampling. The filter needs an algorithm that compares groups. It also acts with one update
per batch, but not with a single group.
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
    """The share of the batch's spread to keep, and the denominator of the loss."""

    needs_groups: ClassVar[bool] = True
    share: Annotated[float, Between(0, 1)] = 0.9
    """Share to keep of the sum of the groups' standard deviations of reward."""
    slack: Annotated[float, Between(0, 1e6)] = 0.01
    """Amount by which the kept sum may fall short, in units of reward."""
    normalise_by_all: bool = False
    """Divide the loss by the number of all tokens instead of kept tokens."""

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
        is_kept = self.keeps(step.spread[first])[step.group]
        if self.normalise_by_all or not is_kept.any():
            return Weights(is_kept.astype(np.float64), ~is_kept)
        return Weights(is_kept / float(is_kept[step.rewarded].mean()), ~is_kept)

    def keeps(self, spread: FloatArray) -> BoolArray:
        """Return the mask of kept groups, by the standard deviations of their rewards."""
        order = np.argsort(-spread, kind="stable")
        sum_before = np.cumsum(spread[order]) - spread[order]
        is_kept = np.zeros(len(spread), bool)
        is_kept[order] = (sum_before < self.share * spread.sum() - self.slack) & (spread[order] > 0)
        return is_kept


REMEDY = SnrFilter
