"""The interface of an algorithm: what a batch of conversations becomes.

An algorithm is a frozen dataclass of its own keys (`algorithm.options`), in a file of
harness/train/algorithms or in another package. The tabular policy and language models share it: it
turns rewards into an advantage for each reply, and the log-probabilities of tokens into a loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.config.algorithm import AlgorithmConfig
from harness.config.options import Options
from harness.config.reward import BY_TURN
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.critic import Critic
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, clipped
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards


@dataclass(frozen=True, slots=True)
class InnerStep:
    """A step of an algorithm with an outer loop, which has slow weights beside those that talk."""

    temperament: str
    """Of all users that the step meets."""
    outer_rate: float
    """Share of the way to the weights after this step that the slow weights go, from where the next
    step begins; 0 within a task, where they stay and the step's weights go on."""


@dataclass(frozen=True, slots=True)
class Refit:
    """The rounds of an algorithm that fits the start policy anew to all that it has kept."""

    steps: int
    """Steps of a round, in which the policy only talks."""
    passes: int
    """Gradient steps on all that was kept, at the round's end."""


@dataclass(frozen=True)
class Algorithm(Options, ABC):
    """Advantages, loss and critic of an algorithm; the defaults are GRPO's clipped loss."""

    needs_groups: ClassVar[bool] = True
    """Whether conversations are compared within groups, which then hold two or more."""
    compares_single: ClassVar[bool] = True
    """Whether what it compares are rewards of single conversations, by whose spread a remedy may
    redraw or leave out groups."""
    by_conversation: ClassVar[bool] = False
    """Whether a token's loss depends on others of its conversation, as a ratio of sequences does.
    `loss` then gets all tokens of a conversation in one call; otherwise it may get any."""
    has_ratio: ClassVar[bool] = True
    """Whether its loss goes by the ratio to the weights that drew the tokens, which a remedy may
    shape."""
    has_negative: ClassVar[bool] = True
    """Whether advantages can be negative."""
    needs_logp: ClassVar[bool] = True
    """Whether `prepare` needs the tokens' log-probabilities under the weights that drew them."""
    needs_start: ClassVar[bool] = False
    """Whether `prepare` needs the tokens' log-probabilities under the start policy."""
    needs_qualities: ClassVar[bool] = False
    """Whether `advantages` goes by `rewards.qualities`."""

    @classmethod
    def key(cls) -> str:
        return "algorithm.options"

    @classmethod
    def name(cls) -> str:
        """The algorithm's name: that of its file."""
        return cls.__module__.rpartition(".")[2]

    @abstractmethod
    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        """The advantage of each reply, shape (conversations, MAX_TURNS).

        Groups are consecutive. A conversation without a reward gets 0 throughout. Also what stands
        after a conversation's last reply is finite, since a null control deals whole rows to
        others. `values`: the critic's value of each reply before it was drawn, of the same shape;
        None without a critic. With `has_token_values` all of this is of tokens.
        """

    def targets(self, rewards: Rewards, values: FloatArray, config: AlgorithmConfig) -> FloatArray:
        """What the critic learns to expect of each reply, shape (conversations, MAX_TURNS); what
        stands after a conversation's last reply is not read. The default is the shared reward.
        """
        return np.repeat(rewards.shared[:, None], values.shape[1], axis=1)

    def needs_mismatched(self) -> bool:
        """Whether `prepare` needs `StepTokens.mismatched_ratio`: one more pass of the policy and of
        the start policy over a batch.
        """
        return False

    def prepare(self, step: StepTokens) -> tuple[FloatArray, ...]:
        """Numbers of each token, shapes (tokens,), that `loss` gets as `tokens.prepared`: whatever
        depends on the whole batch, chosen once a step before its first update.
        """
        return ()

    def refines_by(self) -> str | None:
        """The critique after which the worst conversation of each group is spoken again: none,
        score, reaction or reason. None: groups stay as they were drawn.
        """
        return None

    def slot_count(self) -> int:
        """Slots of a set of conversations, which the policy knows: conversation n is of slot n
        modulo this. 1: there are none.
        """
        return 1

    def metrics(self, rewards: Rewards) -> dict[str, float | None]:
        """Columns of its own, of those that harness/records/metrics.py knows."""
        return {}

    def inner_step(self, step: int, config: RunConfig) -> InnerStep | None:
        """Whom step `step`, from 1, meets, and what it is in an outer loop; None, at every step,
        for an algorithm without one.
        """
        return None

    def refit(self) -> Refit | None:
        """The rounds in which replies with a positive advantage are kept and the start policy is
        fitted to them; None where each batch moves the policy.
        """
        return None

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        """The loss of each token under the current weights, before it is divided."""
        return clipped(
            tokens.logp, tokens.old_logp, tokens.advantage, config.clip_low, config.clip_high
        )

    def denominator(self, config: AlgorithmConfig) -> str:
        """`tokens` to divide the summed loss by the number of tokens, `constant` by the most that
        a batch could hold.
        """
        return config.denominator

    def std_floor(self, config: AlgorithmConfig) -> float | None:
        """The floor under the groups' standard deviations; None if nothing is divided by them."""
        return None

    def critic(self) -> Critic | None:
        """The critic before the first step; None if there is none."""
        return None

    def has_token_values(self) -> bool:
        """Whether the critic has a value at each token, and not at each reply. `advantages` and
        `targets` then have a column a token of the longest conversation in place of MAX_TURNS.
        """
        return False

    def value_coefficient(self) -> float:
        """The coefficient of the critic's loss in the policy's own, for language models; 0: the
        critic sends no gradient into the policy.
        """
        return 0.0

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError, naming a key, where the algorithm cannot run with `config`."""
        size = config.algorithm.group_size
        if self.needs_groups and size < 2:
            raise ConfigError(
                "algorithm.group_size must be 2 or more with algorithm.kind="
                f"{config.algorithm.kind}, which compares the conversations of a group, got {size}"
            )


def refuse_rewards_by_turn(config: RunConfig, why: str, modes: Sequence[str] = BY_TURN) -> None:
    """Raise ConfigError if `reward.mode` is one of `modes`, those that credit single replies."""
    mode, kind = config.reward.mode, config.algorithm.kind
    if mode in modes:
        names = " or ".join(filter(None, (", ".join(modes[:-1]), modes[-1])))
        raise ConfigError(
            f"reward.mode must not be {names} with algorithm.kind={kind}, {why}, got {mode}"
        )
