"""Adaptive entropy control: an entropy bonus that is on while H is at or below a target.

Step k subtracts c_k H if H_k <= target, else nothing. Then c grows by `delta` if H_k <= target and
shrinks by it otherwise, within [0, most] (Skywork-OR1, arXiv 2505.22312, section 4; its target 0.2
nats per token, delta 1e-4, most 0.005). The authors' code estimates H by the mean of -log p of the
drawn tokens; here H is exact, before the update. With `target_end` the target moves linearly from
`target` to `target_end` over the run, like the band of Entrocraft (arXiv 2604.26326; see
entrocraft). The controller has no effect until H has fallen to the target, which the entropy of
tabular acts, 1.9 nats at the start, may never do.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from harness.config.ranges import Between
from harness.train.policy_gradient.remedy_roles import Bonus


@dataclass(frozen=True)
class EntropyController(Bonus):
    """The target, and how the coefficient changes."""

    needs_entropies: ClassVar[bool] = True
    target: Annotated[float, Between(0, 20)] = 0.2
    """Entropy, in nats per token, at or below which the bonus is on."""
    target_end: Annotated[float | None, Between(0, 20)] = None
    """Target at the last step; null: constant target."""
    delta: Annotated[float, Between(0, 1e6)] = 1e-4
    """Change of the coefficient per step."""
    most: Annotated[float, Between(0, 1e6)] = 0.005
    """Largest coefficient."""

    def follows_length(self) -> bool:
        return self.target_end not in (None, self.target)

    def start(self) -> float:
        return 0.0

    def scheduled(self, progress: float) -> Self:
        if self.target_end is None:
            return self
        return replace(self, target=self.target + progress * (self.target_end - self.target))

    def applied(self, coefficient: float, entropy_nats: float) -> float:
        return coefficient if entropy_nats <= self.target else 0.0

    def next(self, coefficient: float, entropy_nats: float) -> float:
        up = entropy_nats <= self.target
        return min(self.most, max(0.0, coefficient + (self.delta if up else -self.delta)))


REMEDY = EntropyController
