"""Entrocraft: only positive advantages count while H is above a moving band, only negative ones
below.

While H is above the band, only tokens with A > 0 give a gradient, which lowers H; while it is
below, only tokens with A < 0, which raises it; within the band, all do. Both bounds move linearly
over the run (arXiv 2604.26326; lblaoke/entrocraft, estimator grpo_range_linear: 0.6 to 0.4 and 0.7
to 0.5 nats per token, for Qwen3-4B). H is exact here, at the step's tokens before its updates. The
loss's denominator also counts the dropped tokens. Entrocraft also acts with one update per batch,
and has no effect while H is within the band. The bounds are in nats: tabular acts start at an
entropy of 1.9, for which these defaults would aim at a collapse.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.ranges import Between
from harness.errors import ConfigError
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights


@dataclass(frozen=True)
class Entrocraft(Weight):
    """The band at both ends of the run, in nats."""

    needs_entropies: ClassVar[bool] = True
    needs_negative: ClassVar[bool] = True
    lower_start: Annotated[float, Between(0, 20)] = 0.6
    """Lower bound of H at the first step, in nats per token."""
    lower_end: Annotated[float, Between(0, 20)] = 0.4
    """Lower bound of H at the last step."""
    upper_start: Annotated[float, Between(0, 20)] = 0.7
    """Upper bound of H at the first step."""
    upper_end: Annotated[float, Between(0, 20)] = 0.5
    """Upper bound of H at the last step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in ("start", "end"):
            lower, upper = getattr(self, f"lower_{end}"), getattr(self, f"upper_{end}")
            if lower > upper:
                raise ConfigError(
                    f"{self.key()}.lower_{end} must not exceed {self.key()}.upper_{end} "
                    f"({upper:g}), got {lower:g}"
                )

    def follows_length(self) -> bool:
        return self.band(0.0) != self.band(1.0)

    def band(self, progress: float) -> tuple[float, float]:
        """Return the lower and upper bound of H after a share `progress` of the run, in nats."""
        lower = self.lower_start + progress * (self.lower_end - self.lower_start)
        return lower, self.upper_start + progress * (self.upper_end - self.upper_start)

    def weigh(self, step: StepTokens) -> Weights:
        assert step.entropy_nats is not None
        (lower, upper), entropy = self.band(step.progress), float(step.entropy_nats.mean())
        chosen = np.zeros(len(step.logp), bool)
        if entropy > upper:
            chosen = step.advantage < 0
        elif entropy < lower:
            chosen = step.advantage > 0
        return Weights(1.0 - chosen, chosen)


REMEDY = Entrocraft
