"""The roles a remedy can play in a step; the remedies themselves are in harness.train.remedies.

Whatever depends on the whole batch is chosen once a step, before its first update, from the
log-probabilities of the weights that drew the tokens. The authors' codes choose anew in every
micro-batch and update, where the chosen share depends on how the batch is split over devices
(PRIME-RL/Entropy-Mechanism-of-RL, issue 20).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeAlias

import numpy as np

from harness.config.options import Options
from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import BoolArray, TokenLoss

State: TypeAlias = Mapping[str, float]
"""Numbers that a remedy carries from step to step, by name; none before the first."""


@dataclass(frozen=True, slots=True)
class StepTokens:
    """A step's tokens before its first update; arrays have shape (tokens,)."""

    logp: FloatArray
    """Under the weights that drew them, at the sampling temperature."""
    advantage: FloatArray
    entropy_nats: FloatArray | None
    """None unless a remedy needs it."""
    start_logp: FloatArray | None
    """Under the start policy; None unless a remedy needs it."""
    rng: np.random.Generator
    """Keyed by this step alone, so that a resumed run draws the same."""
    touched: BoolArray | None = None
    """Tokens of conversations that were redrawn or penalised by a remedy."""
    lost: BoolArray | None = None
    """Tokens of conversations without a reward."""
    conversation: IntArray | None = None
    """The conversation of each token, from 0; None for one conversation alone."""
    turn: IntArray | None = None
    """The reply of each token in its conversation, from 1."""
    group: IntArray | None = None
    """The group of each token, from 0; None where groups are not compared."""
    spread: FloatArray | None = None
    """Standard deviation of the rewards of each token's group; None where groups are not compared.
    """
    planning: BoolArray | None = None
    """Tokens that open a strategy; None unless a remedy needs them."""
    mean_discriminant: FloatArray | None = None
    """sum p^2 (log p + H) over what could have been drawn instead; None unless a remedy needs it.
    """
    mismatched_ratio: FloatArray | None = None
    """The log-ratio to the start policy of another conversation's replies, read after the words of
    each conversation, shape (conversations,); None unless the algorithm needs it."""
    spoken_again: BoolArray | None = None
    """Tokens drawn after a critique; None where groups stay as they were drawn."""
    progress: float = 0.0
    """Share of the run's steps before this one: 0 in the first, 1 in the last."""
    state: State = field(default_factory=dict)
    """The numbers of the remedy that is asked, where it carries some."""

    @property
    def owners(self) -> IntArray:
        """The conversation of each token, numbered from 0 without gaps, shape (tokens,)."""
        if self.conversation is None:
            return np.zeros(len(self.logp), dtype=np.int64)
        return np.unique(self.conversation, return_inverse=True)[1]

    @property
    def rewarded(self) -> BoolArray:
        """Tokens of conversations with a reward, shape (tokens,)."""
        return np.ones(len(self.logp), bool) if self.lost is None else ~self.lost

    def length_weights(self) -> FloatArray:
        """(mean length of the rewarded conversations) / (length of its own), of each token.

        With these a mean over the batch's tokens is one over its conversations, each counting alike
        whatever its length.
        """
        lengths = np.bincount(self.owners)
        rewarded = np.unique(self.owners[self.rewarded])
        mean = lengths[rewarded].mean() if len(rewarded) else 1.0
        weights: FloatArray = mean / lengths[self.owners]
        return weights

    @property
    def reply(self) -> IntArray:
        """The reply of each token among all of the batch, from 0, shape (tokens,)."""
        assert self.conversation is not None
        assert self.turn is not None
        pairs = np.stack([self.conversation, self.turn])
        return np.unique(pairs, axis=1, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Remedy(Options):
    """A remedy's numbers; a subclass plays one or more of the roles below."""

    chooses: ClassVar[bool] = False
    """Whether it picks out tokens once a step."""
    needs_entropies: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    """Whether it goes by groups of conversations: refused where the algorithm compares none."""
    needs_negative: ClassVar[bool] = False
    """Whether it treats negative advantages and positive ones unlike: refused where the algorithm
    gives none, since it would then only stop or shrink all that is learnt.
    """
    needs_planning: ClassVar[bool] = False
    needs_distribution: ClassVar[bool] = False
    """Whether it needs `StepTokens.mean_discriminant`: one more pass of a language model."""

    @classmethod
    def key(cls) -> str:
        return f"remedy.methods.{cls.name()}"

    @classmethod
    def name(cls) -> str:
        """The remedy's name: that of its file."""
        return cls.__module__.rpartition(".")[2]

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError, naming a key, where the remedy cannot run with `config` at all."""

    def idle(self, config: RunConfig) -> str | None:
        """Why the remedy cannot act in a run of `config`, naming a key; None if it can."""
        return None


class Adaptive(Remedy, ABC):
    """Carries numbers from step to step; a checkpoint keeps them."""

    needs_entropies: ClassVar[bool] = True

    @abstractmethod
    def observed(self, state: State, step: StepTokens) -> State:
        """The numbers for a step, from those of the step before and the tokens it will learn from.

        The other roles find them in `StepTokens.state`.
        """

    def at(self, state: State) -> Self:
        """The remedy of a step with these numbers; another than itself only if it is a Ratio."""
        return self


class Ratio(Remedy, ABC):
    """Shapes the policy-gradient term. With one update a batch every ratio is 1, and all shapes
    are the same.
    """

    @abstractmethod
    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        """The loss of each token, shapes (tokens,), in numpy or in torch as the arrays are."""

    def idle(self, config: RunConfig) -> str | None:
        if config.trainer.updates_per_batch > 1:
            return None
        return (
            "trainer.updates_per_batch must be 2 or more, since with one update a batch every "
            f"ratio is 1 and {self.name()} does nothing, got 1"
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a step's tokens, shapes (tokens,)."""

    weight: FloatArray
    """Factor of the policy-gradient term."""
    chosen: BoolArray
    """The tokens that were picked out."""


class Weight(Remedy, ABC):
    """Weighs the policy-gradient term of each token."""

    chooses: ClassVar[bool] = True

    @abstractmethod
    def weigh(self, step: StepTokens) -> Weights:
        """The weights of a step, chosen before its first update."""


class Shift(Remedy, ABC):
    """Adds to the advantage of each token, before its loss is computed."""

    @abstractmethod
    def shift(self, step: StepTokens) -> FloatArray:
        """What is added to the advantages of a step, shape (tokens,)."""


class Sharpening(Remedy, ABC):
    """Multiplies the logits from which a token was drawn, in the policy-gradient term alone.

    The term's slope is then that of log softmax(factor * logits) at the token, while ratios and
    what is drawn from stay as they are.
    """

    @abstractmethod
    def factors(self, step: StepTokens) -> FloatArray:
        """The factor of each token's logits, above 0 and 1 where nothing is changed."""


@dataclass(frozen=True, slots=True)
class Added:
    """A term added to each token's loss; shapes (tokens,)."""

    value: Array
    slope: Array
    """d value / d logp."""


class Term(Remedy, ABC):
    """Adds a term to the loss of each token."""

    @abstractmethod
    def prepare(self, step: StepTokens) -> FloatArray:
        """The number of each token that `term` goes by, shape (tokens,); chosen once a step."""

    @abstractmethod
    def term(self, logp: Array, old_logp: Array, prepared: Array) -> Added:
        """The term at the current log-probabilities, in numpy or in torch as the arrays are;
        `prepared` as returned by `prepare`.
        """


class Filling(Remedy, ABC):
    """Redraws groups whose rewards are all equal; refused where the algorithm compares none."""

    needs_groups: ClassVar[bool] = True

    @abstractmethod
    def most_tries(self) -> int:
        """Most times that a group is drawn in one step."""


class Penalty(Remedy, ABC):
    """Lowers the rewards of replies, for the advantages alone."""

    @abstractmethod
    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray:
        """The penalty of each reply, 0 or below, shape of `tokens`.

        `tokens`: length of each reply; `limit`: the longest reply allowed.
        """


class Bonus(Remedy, ABC):
    """Subtracts coefficient * H, the mean exact entropy at the batch's tokens, from the loss."""

    @abstractmethod
    def start(self) -> float:
        """The coefficient before the first step."""

    @abstractmethod
    def applied(self, coefficient: float, entropy_nats: float) -> float:
        """The factor of H in this step; `entropy_nats`: H before its updates."""

    @abstractmethod
    def next(self, coefficient: float, entropy_nats: float) -> float:
        """The coefficient of the next step."""

    def scheduled(self, progress: float) -> Self:
        """The bonus at a share of the run's steps, 0 in the first and 1 in the last: itself, unless
        it has a schedule.
        """
        return self


class TokenBonus(Remedy, ABC):
    """Subtracts coefficient * H at each token, with a coefficient of its own."""

    needs_entropies: ClassVar[bool] = True

    @abstractmethod
    def coefficients(self, step: StepTokens) -> FloatArray:
        """The factor of H at each token in a step, shape (tokens,); below 0 it lowers H."""
