"""Dynamic sampling: a batch holds only groups whose rewards differ.

Groups without variance are drawn again with other users, up to `tries` times in all (DAPO, arXiv
2503.14476, section 3.2; 10 as in the authors' scripts, which then end the run; here the rest stays,
with advantage 0). The authors draw whole batches anew and keep what fills one; here only what is
missing is drawn again. H and R are those of the batch that is learned from, so R of a hard level
looks better than it is: compare eval/reward. Nothing happens where every group has variance.
"""

from dataclasses import dataclass

from harness.train.algorithms.remedy_roles import Filling, knob


@dataclass(frozen=True)
class DynamicSampling(Filling):
    """The most times that a group is drawn in one step."""

    tries: int = knob(10, 1, 1000)

    def most_tries(self) -> int:
        return self.tries


REMEDY = DynamicSampling
