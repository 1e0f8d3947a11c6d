"""Rules shared by remedies that adapt a coefficient to the policy entropy."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.train.policy_gradient.remedy_roles import Adaptive, State, StepTokens


def start_entropy(state: State, step: StepTokens) -> float:
    """Return H of the first step in nats: from `state`, or in the first step from its tokens."""
    assert step.entropy_nats is not None
    return state.get("start_nats", float(step.entropy_nats.mean()))


@dataclass(frozen=True)
class Doubling(Adaptive, ABC):
    """A coefficient that is doubled or halved each step to hold H at a share of its first value.

    The rule is REPO's controller (arXiv 2603.11682; NovaSky-AI/SkyRL, examples repo_r). A subclass
    declares the fields again, each with its own range.
    """

    zeta: float
    least: float
    most: float
    target_share: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise ConfigError(
                f"{self.key()}.least must not exceed {self.key()}.most ({self.most:g}), "
                f"got {self.least:g}"
            )
        if not self.least <= abs(self.zeta) <= self.most:
            raise ConfigError(
                f"{self.key()}.zeta must be of a size from {self.key()}.least to "
                f"{self.key()}.most ({self.least:g} to {self.most:g}), got {self.zeta:g}"
            )

    @classmethod
    def key(cls) -> str:
        return f"remedy.methods.{cls.name()}"

    def observed(self, state: State, step: StepTokens) -> State:
        assert step.entropy_nats is not None
        start = start_entropy(state, step)
        zeta = state.get("zeta", self.zeta)
        if "zeta" in state:
            below = float(step.entropy_nats.mean()) < self.target_share * start
            zeta = self._move(zeta, 1.0 if below else -1.0)
        return {"zeta": zeta, "start_nats": start}

    def _move(self, zeta: float, sign: float) -> float:
        """Return the coefficient moved one step towards `sign`: 1 to raise H, -1 to lower it."""
        aligned = sign * zeta
        if aligned > 0:
            aligned = min(self.most, max(self.least, 2 * aligned))
        else:
            aligned = aligned / 2 if aligned / 2 <= -self.least else self.least
        return sign * aligned
