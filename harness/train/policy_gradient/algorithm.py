"""The interface of an algorithm, which turns a batch of conversations into a loss.

An algorithm is a frozen dataclass of its config keys (`algorithm.options`), in a file of
harness/train/algorithms or in another package. The tabular policy and language models use the same
one: it turns rewards into an advantage for each reply, and log-probabilities of tokens into a loss.
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
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, clipped_loss
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards


@dataclass(frozen=True, slots=True)
class InnerStep:
    """A step of an algorithm with an outer loop, which keeps slow weights beside the policy's."""

    temperament: str
    """The temperament of all users in this step."""
    outer_rate: float
    """Share of the distance to the weights after this step by which the slow weights move. The next
    step starts at the moved slow weights. 0 within a task: the slow weights stay, and the next step
    starts at this step's weights."""


@dataclass(frozen=True, slots=True)
class Refit:
    """Rounds at whose end an algorithm refits the start policy to all conversations it has kept."""

    steps: int
    """Steps per round, in which the policy holds conversations and is not updated."""
    passes: int
    """Gradient steps on all kept conversations at the end of a round."""


@dataclass(frozen=True)
class Algorithm(Options, ABC):
    """Advantages, loss and critic of an algorithm; the defaults are GRPO's clipped loss."""

    needs_groups: ClassVar[bool] = True
    """Whether conversations are compared within groups, which must then hold two or more."""
    compares_single: ClassVar[bool] = True
    """Whether rewards of single conversations are compared. A remedy may then redraw or leave out
    groups by the spread of these rewards."""
    by_conversation: ClassVar[bool] = False
    """Whether a token's loss depends on other tokens of its conversation, as a ratio of sequences
    does. `loss` then gets all tokens of a conversation in one call, and otherwise any part."""
    has_ratio: ClassVar[bool] = True
    """Whether the loss depends on the ratio to the weights that drew the tokens, which remedies may
    shape."""
    has_negative: ClassVar[bool] = True
    """Whether advantages can be negative."""
    needs_logp: ClassVar[bool] = True
    """Whether `prepare` needs the tokens' log-probabilities under the weights that drew them."""
    needs_start: ClassVar[bool] = False
    """Whether `prepare` needs the tokens' log-probabilities under the start policy."""
    needs_qualities: ClassVar[bool] = False
    """Whether `advantages` needs `rewards.qualities`."""

    @classmethod
    def key(cls) -> str:
        return "algorithm.options"

    @classmethod
    def name(cls) -> str:
        """Return the algorithm's name, which is the name of its file."""
        return cls.__module__.rpartition(".")[2]

    @abstractmethod
    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        """Return the advantage of each reply, shape (conversations, MAX_TURNS).

        Groups are consecutive. A conversation without a reward gets 0 throughout. Entries after a
        conversation's last reply must be finite too, since a null control permutes whole rows.
        `values`: the critic's value of each reply before it was drawn, of the same shape; None
        without a critic. With `has_token_values` the columns are tokens.
        """

    def targets(self, rewards: Rewards, values: FloatArray, config: AlgorithmConfig) -> FloatArray:
        """Return the critic's target for each reply, shape (conversations, MAX_TURNS).

        Entries after a conversation's last reply are not read. The default is the shared reward.
        """
        return np.repeat(rewards.shared[:, None], values.shape[1], axis=1)

    def needs_mismatched(self) -> bool:
        """Return whether `prepare` needs `StepTokens.mismatched_ratio`, which costs another pass of
        the policy and of the start policy over a batch.
        """
        return False

    def prepare(self, step: StepTokens) -> tuple[FloatArray, ...]:
        """Return per-token arrays, shapes (tokens,), that `loss` gets as `tokens.prepared`.

        Everything that depends on the whole batch is computed here, once a step before its first
        update.
        """
        return ()

    def refines_by(self) -> str | None:
        """Return the critique after which the worst conversation of each group is continued anew:
        none, score, reaction or reason. None: groups stay as they were drawn.
        """
        return None

    def slot_count(self) -> int:
        """Return the number of slots in a set of conversations; 1 for none.

        Conversation n has slot n modulo this number, and the policy observes its slot.
        """
        return 1

    def metrics(self, rewards: Rewards) -> dict[str, float | None]:
        """Return the algorithm's own metrics, by columns of harness/records/metrics.py."""
        return {}

    def inner_step(self, step: int, config: RunConfig) -> InnerStep | None:
        """Return the users of step `step` (from 1) and its part in the outer loop.

        An algorithm without an outer loop returns None at every step.
        """
        return None

    def refit(self) -> Refit | None:
        """Return the rounds at whose end the start policy is fitted to all kept replies, which are
        those with a positive advantage; None if each batch updates the policy.
        """
        return None

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        """Return the loss of each token under the current weights, before division by the
        denominator.
        """
        return clipped_loss(
            tokens.logp, tokens.old_logp, tokens.advantage, config.clip_low, config.clip_high
        )

    def denominator(self, config: AlgorithmConfig) -> str:
        """Return the divisor of the summed loss: `tokens` for the number of tokens in the batch,
        `constant` for the largest number that a batch could hold.
        """
        return config.denominator

    def std_floor(self, config: AlgorithmConfig) -> float | None:
        """Return the floor of the groups' standard deviations; None if they divide nothing."""
        return None

    def critic(self) -> Critic | None:
        """Return the critic before the first step; None for an algorithm without one."""
        return None

    def has_token_values(self) -> bool:
        """Return whether the critic values each token rather than each reply.

        `advantages` and `targets` then have one column per token of the longest conversation in
        place of MAX_TURNS.
        """
        return False

    def value_coefficient(self) -> float:
        """Return the coefficient of the critic's loss in a language model's loss; with 0 the critic
        sends no gradient into the policy.
        """
        return 0.0

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError, naming a key, if the algorithm cannot run with `config`."""
        size = config.algorithm.group_size
        if self.needs_groups and size < 2:
            raise ConfigError(
                "algorithm.group_size must be 2 or more with algorithm.kind="
                f"{config.algorithm.kind}, which compares the conversations of a group, got {size}"
            )


def refuse_rewards_by_turn(config: RunConfig, why: str, modes: Sequence[str] = BY_TURN) -> None:
    """Raise ConfigError if `reward.mode` is one of `modes`, by default those that credit turns."""
    mode, kind = config.reward.mode, config.algorithm.kind
    if mode in modes:
        names = " or ".join(filter(None, (", ".join(modes[:-1]), modes[-1])))
        raise ConfigError(
            f"reward.mode must not be {names} with algorithm.kind={kind}, {why}, got {mode}"
        )
