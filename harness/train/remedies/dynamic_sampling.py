"""Dynamic sampling: groups whose rewards are all equal are sampled again.

Groups without variance are drawn again with other users, up to `tries` times in total (DAPO, arXiv
2503.14476, section 3.2; 10 as in the authors' scripts, which then end the run; here the remaining
groups stay, with advantage 0). The authors draw whole new batches and keep as many groups as fill
one; here only the missing groups are drawn again. H and R describe the batch that is learned from,
so R of a hard level looks better than it is: compare eval/reward instead. Dynamic sampling has no
effect if every group has variance.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import Filling


@dataclass(frozen=True)
class DynamicSampling(Filling):
    """The most times that a group is drawn in one step."""

    tries: Annotated[int, Between(1, 1000)] = 10
    """Maximum number of times that a group is sampled in one step."""

    def most_tries(self) -> int:
        return self.tries


REMEDY = DynamicSampling
