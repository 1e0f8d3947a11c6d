"""Entropy bonus: coefficient * H is subtracted from the loss, with exact H at every token.

Its gradient is that of H at the visited states; the dependence of the states on the policy is
ignored. In the sweep of arXiv 2505.22617 (section 4.1), 1e-4 and 1e-3 have little effect, 0.005
stabilises H without a gain in reward, and with 0.01 H explodes; hence the default. It always has an
effect.
"""

from dataclasses import dataclass
from typing import Annotated

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import Bonus


@dataclass(frozen=True)
class EntropyBonus(Bonus):
    """A constant coefficient."""

    coefficient: Annotated[float, Between(0, 1e6)] = 0.005
    """Coefficient of H in the loss."""

    def start(self) -> float:
        return self.coefficient

    def applied(self, coefficient: float, entropy_nats: float) -> float:
        return coefficient

    def next(self, coefficient: float, entropy_nats: float) -> float:
        return coefficient


REMEDY = EntropyBonus
