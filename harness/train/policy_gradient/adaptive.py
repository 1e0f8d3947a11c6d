"""Rules by which remedies move a number towards an entropy: what several of them share."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass

from harness.errors import ConfigError
from harness.train.policy_gradient.remedy_roles import Adaptive, State, StepTokens


def start_entropy(state: State, step: StepTokens) -> float:
    """H of the first step in nats, from the state since then or from this step's tokens."""
    assert step.entropy_nats is not None
    return state.get("start_nats", float(step.entropy_nats.mean()))


@dataclass(frozen=True)
class Doubling(Adaptive, ABC):
    """A coefficient that doubles and halves towards a share of the first step's H.

    As the controller of REPO does (arXiv 2603.11682; NovaSky-AI/SkyRL, examples repo_r). A subclass
    declares its fields, with ranges of its own.
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
            zeta = self._moved(zeta, 1.0 if below else -1.0)
        return {"zeta": zeta, "start_nats": start}

    def _moved(self, zeta: float, sign: float) -> float:
        """The coefficient a step further towards `sign`, 1 to raise H and -1 to lower it."""
        along = sign * zeta
        if along > 0:
            along = min(self.most, max(self.least, 2 * along))
        else:
            along = along / 2 if along / 2 <= -self.least else self.least
        return sign * along
