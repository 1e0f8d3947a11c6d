"""Online KTO: each conversation is labelled wanted or unwanted, without pairs (arXiv 2402.01306).

m = sum over a conversation's tokens of log p - log p_start; z = max(0, mean m of the batch), fixed
for the step. A conversation with a reward above its group's mean is wanted and has the loss
w (1 - sigmoid(beta (m - z))); one below the mean is unwanted and has w (1 - sigmoid(beta (z - m)));
one at the mean has none. The batch's loss is the mean over conversations. A conversation far from z
has almost no gradient: its size, beta v (1 - v) with v the sigmoid, is largest at m = z.

Unlike the paper, labels come from the group and data from the policy itself. z estimates
KL(policy || start). The paper and TRL learn from conversations that others wrote, so they estimate
z on replies paired with the wrong prompts. Here the policy draws the batch, so the batch's mean of
m estimates that KL without bias and without another pass through the models.
`reference_point=mismatched` estimates z as the paper does: m is then of the replies from a
conversation with another user, the n-th reply read in the context of the n-th reply here, for as
many replies as both have. z is computed before the first update of a step.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between, OneOf
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import TINY, FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm, refuse_rewards_by_turn
from harness.train.policy_gradient.arrays import namespace
from harness.train.policy_gradient.losses import LossTokens, TokenLoss
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards, by_reply


@dataclass(frozen=True)
class Kto(Algorithm):
    """The scale of the log-ratio, and the weights of wanted and unwanted conversations."""

    by_conversation: ClassVar[bool] = True
    needs_start: ClassVar[bool] = True
    beta: Annotated[float, Between(1e-4, 10)] = 0.1
    """Factor of the log-ratio to the start policy: the larger, the sooner a conversation's gradient
    vanishes."""
    wanted: Annotated[float, Between(0, 100)] = 1.0
    """Weight of conversations with rewards above their group's mean."""
    unwanted: Annotated[float, Between(0, 100)] = 1.0
    """Weight of conversations with rewards below their group's mean."""
    reference_point: Annotated[str, OneOf(("batch", "mismatched"))] = "batch"
    """How the reference point z is estimated: from the batch's own conversations (batch), or from
    replies paired with another conversation's context, as in the paper (mismatched)."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: self._labels(column, config.group_size))

    def needs_mismatched(self) -> bool:
        return self.reference_point == "mismatched"

    def prepare(self, step: StepTokens) -> tuple[FloatArray, ...]:
        """Return the numbers that m - z subtracts from the tokens' log p, and the weights that make
        a mean over tokens a mean over conversations.
        """
        assert step.start_logp is not None
        owners = step.owners
        mismatched = step.mismatched_ratio
        matched = np.bincount(owners, weights=step.logp - step.start_logp)
        m = matched if mismatched is None else mismatched
        rewarded = np.unique(owners[step.rewarded])
        z = max(0.0, float(m[rewarded].mean())) if len(rewarded) else 0.0
        return step.start_logp + z / np.bincount(owners)[owners], step.length_weights()

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        xp = namespace(tokens.logp)
        subtracted, weight = tokens.prepared
        lengths = tokens.lengths
        from_z = lengths * tokens.mean_by_conversation(tokens.logp - subtracted)
        size = xp.abs(tokens.advantage)
        side = self.beta * xp.sign(tokens.advantage)
        v = (1 + xp.tanh(side * from_z / 2)) / 2  # the sigmoid, without overflow
        # m is a sum: each token's log p changes it one to one
        slope = -lengths * tokens.mean_by_conversation(size * side * v * (1 - v))
        return TokenLoss.without_clip(weight * size * (1 - v), weight * slope)

    def denominator(self, config: AlgorithmConfig) -> str:
        return "tokens"

    def check(self, config: RunConfig) -> None:
        super().check(config)
        refuse_rewards_by_turn(config, "which labels whole conversations")
        if not self.wanted and not self.unwanted:
            raise ConfigError(
                "algorithm.options.wanted must be above 0 unless algorithm.options.unwanted is, "
                "since conversations of weight 0 teach nothing, got 0 for both"
            )

    def _labels(self, column: FloatArray, size: int) -> FloatArray:
        """Return each conversation's weight: positive if wanted, negative if unwanted, 0 at the
        group's mean.
        """
        lead = group_relative(column, size, std_floor=None)
        return np.where(lead > TINY, self.wanted, np.where(lead < -TINY, -self.unwanted, 0.0))


ALGORITHM = Kto
