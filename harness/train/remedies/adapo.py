"""ADAPO: the upper clip bound of the ratio is adapted to hold a target entropy.

-min(r A, clip(r, 1 - clip_low, 1 + e) A). The bound e grows while H is below the target and shrinks
while it is above (arXiv 2603.11682, section on ADAPO: its theorem 2 bounds a step's H by
(1 - clip_low) H and (1 + e) H). The target is H of the first step, as in the paper. A fixed e of
0.28 is DAPO, with which H of the paper's 32B model grew by 298%, and by 102% with ADAPO.

The paper's text was not accessible, and the authors released no code. Notes on the paper give the
direction and the target, and say that its controllers double and halve. `factor`, the bounds
`least` and `most`, and the initial e, which is DAPO's, are choices made here. ADAPO has no effect
with one update per batch.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Self

from harness.config.ranges import Between
from harness.errors import ConfigError
from harness.train.policy_gradient.adaptive import start_entropy
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import TokenLoss, clipped_loss
from harness.train.policy_gradient.remedy_roles import Adaptive, Ratio, State, StepTokens


@dataclass(frozen=True)
class Adapo(Adaptive, Ratio):
    """PPO's clip with an upper bound that follows the entropy."""

    clip_low: Annotated[float, Between(0, 1)] = 0.2
    """Lower clip bound of the ratio: 1 - clip_low."""
    clip_high: Annotated[float, Between(0, 100)] = 0.28
    """Upper clip bound of the ratio at the first step: 1 + clip_high."""
    least: Annotated[float, Between(1e-6, 100)] = 0.2
    """Smallest clip_high."""
    most: Annotated[float, Between(1e-6, 100)] = 1.0
    """Largest clip_high."""
    factor: Annotated[float, Between(1, 100)] = 2.0
    """Factor by which clip_high is multiplied or divided per step."""
    target_share: Annotated[float, Between(0, 100)] = 1.0
    """Target entropy, as a multiple of the entropy at the first step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.least <= self.clip_high <= self.most:
            raise ConfigError(
                f"{self.key()}.clip_high must be from {self.key()}.least to {self.key()}.most "
                f"({self.least:g} to {self.most:g}), got {self.clip_high:g}"
            )

    def observed(self, state: State, step: StepTokens) -> State:
        assert step.entropy_nats is not None
        start, clip_high = start_entropy(state, step), self.clip_high
        if "clip_high" in state:
            below = float(step.entropy_nats.mean()) < self.target_share * start
            adjusted = state["clip_high"] * (self.factor if below else 1 / self.factor)
            clip_high = min(self.most, max(self.least, adjusted))
        return {"clip_high": clip_high, "start_nats": start}

    def at(self, state: State) -> Self:
        return replace(self, clip_high=state["clip_high"])

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        return clipped_loss(logp, old_logp, advantage, self.clip_low, self.clip_high)


REMEDY = Adapo
