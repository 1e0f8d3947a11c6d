"""GSPO: GRPO's advantages with one clipped ratio for a whole conversation (arXiv 2507.18071).

s = exp(mean over the conversation's tokens of log p - log p_old). The loss of a conversation is
-min(s A, clip(s, 1 - clip_low, 1 + clip_high) A), and the loss of the batch is the mean over
conversations, whatever their length. s is a geometric mean and moves little: the paper clips it at
3e-4 below and 4e-4 above. The paper's sequence is one reply; here it is all of the policy's tokens
in a conversation, whose replies share one reward. With one update per batch every s is 1, which
leaves GRPO with equal weight for every conversation.
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.config.algorithm import AlgorithmConfig
from harness.config.run import RunConfig
from harness.train.algorithms.grpo import Grpo
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import refuse_rewards_by_turn
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, clipped_loss
from harness.train.policy_gradient.remedy_roles import StepTokens


@dataclass(frozen=True)
class Gspo(Grpo):
    """GRPO with a ratio per conversation; it has no keys of its own."""

    by_conversation: ClassVar[bool] = True

    def prepare(self, step: StepTokens) -> tuple[FloatArray, ...]:
        return (step.length_weights(),)

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        (weight,) = tokens.prepared
        log_s = tokens.mean_by_conversation(tokens.logp - tokens.old_logp)
        clipped = clipped_loss(
            log_s, 0 * log_s, tokens.advantage, config.clip_low, config.clip_high
        )
        # log s is a mean: each token's log p changes it by 1 / length, at all tokens
        slope = tokens.mean_by_conversation(clipped.slope)
        return TokenLoss(weight * clipped.value, weight * slope, clipped.low, clipped.high)

    def denominator(self, config: AlgorithmConfig) -> str:
        return "tokens"

    def check(self, config: RunConfig) -> None:
        super().check(config)
        refuse_rewards_by_turn(config, "whose replies share one ratio and one advantage")


ALGORITHM = Gspo
