"""Expert iteration: imitate the best conversations of each group (arXiv 2403.04642, 1705.08439).

Each group keeps the share `keep` of its conversations with the highest rewards, if these lie
`margin` above the group's mean. The loss is -w log p of the kept conversations' tokens, where w is
the group size divided by the number kept of a full group; w is 0 for the other conversations.
Nothing pushes the worse ones down, and there is no ratio and no clip.

With `fit_from=current`, the default, a round is one step: the kept conversations of this batch
update the current policy. On-policy and without duplicates this is REINFORCE with reward 1 for kept
conversations, 0 for the others, and no baseline.

With `fit_from=start`, as in 2403.04642, a round is `round_steps` steps without an update. At its
end the start policy is fitted to the conversations kept in all rounds, each once, by `fit_passes`
gradient steps on the mean of -log p: of a reply (tabular) or of a token (language models). The
paper keeps every correct answer; here the best of each group are kept, since emotion has no
threshold for success.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.ranges import Between, OneOf, Only, Unit
from harness.config.reward import SHARED
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import TINY, FloatArray, group_relative
from harness.train.policy_gradient.algorithm import Algorithm, Refit, refuse_rewards_by_turn
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, imitating
from harness.train.policy_gradient.rewards import Rewards, by_reply

IN_ROUNDS = Only("algorithm.options.fit_from", ("start",))


@dataclass(frozen=True)
class ExpertIteration(Algorithm):
    """Which conversations are imitated."""

    has_ratio: ClassVar[bool] = False
    has_negative: ClassVar[bool] = False
    keep: Annotated[float, Between(0.001, 1)] = 0.125
    """Share of a group's conversations to imitate: at least one, if it passes the margin."""
    margin: Annotated[float, Between(0, 1)] = 0.05
    """Minimum lead of an imitated conversation's reward over its group's mean."""
    fit_from: Annotated[str, OneOf(("current", "start"))] = "current"
    """current: each batch updates the current policy; start: each round refits the start policy to
    the conversations kept in all rounds."""
    round_steps: Annotated[int, Between(1, 100_000), Unit("steps"), IN_ROUNDS] = 10
    """Steps per round; must divide trainer.steps."""
    fit_passes: Annotated[int, Between(1, 10_000), IN_ROUNDS] = 30
    """Gradient steps on all kept conversations at the end of a round."""

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return by_reply(rewards, lambda column: self._imitation_weights(column, config.group_size))

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        return imitating(tokens.logp, tokens.advantage)

    def refit(self) -> Refit | None:
        return Refit(self.round_steps, self.fit_passes) if self.fit_from == "start" else None

    def check(self, config: RunConfig) -> None:
        super().check(config)
        if self.fit_from == "start":
            self._check_rounds(config)
        refuse_rewards_by_turn(config, "which imitates whole conversations")
        largest_lead = 1 - 1 / config.algorithm.group_size
        # a group shares its opening, so rewards of these modes differ by at most 1 within it
        if config.reward.mode in SHARED and self.margin > largest_lead + TINY:
            raise ConfigError(
                "algorithm.options.margin must be at most 1 - 1/algorithm.group_size, here "
                f"{largest_lead:.3g}, since no conversation exceeds its group's mean by more, got "
                f"{self.margin:g}"
            )

    def _check_rounds(self, config: RunConfig) -> None:
        """Raise ConfigError for settings that `fit_from=start` does not support."""
        condition = "with algorithm.options.fit_from=start"
        if config.trainer.shard != "none":
            raise ConfigError(
                f"trainer.shard must be none {condition}, since the start weights are put back "
                f"whole, got {config.trainer.shard}"
            )
        if config.trainer.steps % self.round_steps:
            raise ConfigError(
                "trainer.steps must be a multiple of algorithm.options.round_steps "
                f"({self.round_steps}) {condition}, since an incomplete round has no update, got "
                f"{config.trainer.steps}"
            )
        if config.trainer.updates_per_batch != 1:
            raise ConfigError(
                f"trainer.updates_per_batch must be 1 {condition}; set "
                f"algorithm.options.fit_passes, the number of passes over the kept conversations, "
                f"got {config.trainer.updates_per_batch}"
            )
        if config.remedy.methods:
            raise ConfigError(
                f"remedy must be none {condition}, since remedies need conversations sampled from "
                f"the current policy, got {config.remedy.name}"
            )
        if config.eval.adapts_to is not None:
            raise ConfigError(
                f"eval.adapts_to must be null {condition}, whose steps are not updates, got "
                f"{config.eval.adapts_to}"
            )
        if config.trainer.stop_when is not None:
            raise ConfigError(
                f"trainer.stop_when must be null {condition}, since the reward is flat until a "
                f"round ends, got {config.trainer.stop_when}"
            )

    def _imitation_weights(self, column: FloatArray, size: int) -> FloatArray:
        """Return the weight of each conversation, shape (n,); groups are consecutive."""
        count = max(1, round(self.keep * size))
        lead = group_relative(column, size, std_floor=None).reshape(-1, size)
        # rank within the group by reward; ties keep their order
        rank = np.argsort(np.argsort(-lead, axis=1, kind="stable"), axis=1)
        is_kept = (rank < count) & (lead > TINY) & (lead > self.margin - TINY)
        weights: FloatArray = np.where(is_kept, size / count, 0.0).ravel()
        return weights


ALGORITHM = ExpertIteration
