"""Critique-GRPO: the end of each group's worst conversation is sampled again after a critique
(arXiv 2506.03106).

After a group is drawn, its conversation with the lowest reward is continued anew from its most
costly reply on, with a critique in the prompt, and replaces the original
(harness/train/rollout/refinement.py). A is the reward minus the group's mean, not divided. Tokens
drawn without a critique have the loss -r A, where r is the ratio, without a clip. Tokens drawn
after one have -A f(p), f(p) = p / (p + shaping), where p is their probability under the policy
without the critique. The slope along log p is -A shaping p / (p + shaping)^2, largest where
p = shaping. The log-probability at which they were drawn enters no loss, and no importance weight
corrects for the critique. `critique=none` is the control: drawn again without a critique, with the
same loss.

The authors draw 7 replies and refine one into an eighth, shaped from its first token. This version
keeps the group's size and the replies before the costly one, which were not criticised. The
authors' sum over a constant is `algorithm.denominator=constant`, which
conf/algorithm/critique_grpo.yaml sets.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between, OneOf
from harness.config.run import RunConfig
from harness.config.simulator import IN_PROCESS
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, shaped_loss, unclipped
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class CritiqueGrpo(Algorithm):
    """The critique, and the loss of the tokens drawn after it."""

    has_ratio: ClassVar[bool] = False
    needs_logp: ClassVar[bool] = False
    critique: Annotated[str, OneOf(("none", "score", "reaction", "reason"))] = "reason"
    """Critique that the policy reads before it replies again: none, score (this reply cost the
    most), reaction (the user's answer to it) or reason (why it lowered the mood)."""
    shaping: Annotated[float, Between(0.001, 10)] = 0.1
    """Probability at which the loss of a resampled token has its largest slope."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        size = config.group_size
        return by_reply(rewards, lambda column: group_relative(column, size, std_floor=None))

    def refines_by(self) -> str | None:
        return self.critique

    def prepare(self, step: StepTokens) -> tuple[FloatArray, ...]:
        """Return 1 for each token drawn after a critique, 0 for the others."""
        refined = np.zeros(len(step.logp)) if step.is_refined is None else step.is_refined
        return (refined.astype(np.float64),)

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        (refined,) = tokens.prepared
        plain = unclipped(tokens.logp, tokens.old_logp, tokens.advantage)
        shaped = shaped_loss(tokens.logp, tokens.advantage, self.shaping)
        value = (1 - refined) * plain.value + refined * shaped.value
        slope = (1 - refined) * plain.slope + refined * shaped.slope
        return TokenLoss.without_clip(value, slope)

    def check(self, config: RunConfig) -> None:
        super().check(config)
        kind = f"with algorithm.kind={config.algorithm.kind}"
        if config.curriculum.kind not in ("none", "reverse"):
            raise ConfigError(
                f"curriculum.kind must be none or reverse {kind}, whose conversations are taken "
                f"over at the run's own level, got {config.curriculum.kind}"
            )
        simulator = config.simulator.kind
        if simulator not in (*IN_PROCESS, "served"):
            raise ConfigError(
                f"simulator.kind must be {', '.join(IN_PROCESS)} or served {kind}, whose "
                f"conversations can be taken over, got {simulator}"
            )
        if self.critique == "reason" and simulator != "scripted":
            raise ConfigError(
                "algorithm.options.critique must not be reason with simulator.kind="
                f"{simulator}, whose appraisals have no parts for a strategy, got reason"
            )


ALGORITHM = CritiqueGrpo
