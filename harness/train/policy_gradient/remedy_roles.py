"""The roles a remedy can play in a step; the remedies themselves are in harness.train.remedies.

Everything that depends on the whole batch is chosen once a step, before its first update, from the
log-probabilities of the weights that drew the tokens. The authors' implementations choose anew in
every micro-batch and update, so that the chosen share depends on how the batch is split over
devices (PRIME-RL/Entropy-Mechanism-of-RL, issue 20).
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
"""Numbers that a remedy carries from step to step, by name; empty before the first step."""


@dataclass(frozen=True, slots=True)
class StepTokens:
    """A step's tokens before its first update; arrays have shape (tokens,)."""

    logp: FloatArray
    """Log-probabilities under the weights that drew the tokens, at the sampling temperature."""
    advantage: FloatArray
    entropy_nats: FloatArray | None
    """The policy entropy at each token in nats; None unless a remedy needs it."""
    start_logp: FloatArray | None
    """Log-probabilities under the start policy; None unless they are needed."""
    rng: np.random.Generator
    """A generator seeded for this step alone, so that a resumed run draws the same numbers."""
    touched: BoolArray | None = None
    """Tokens of conversations that were redrawn or penalised by a remedy."""
    lost: BoolArray | None = None
    """Tokens of conversations without a reward."""
    conversation: IntArray | None = None
    """The conversation of each token, numbered from 0; None if there is only one conversation."""
    turn: IntArray | None = None
    """The number of each token's reply in its conversation, from 1."""
    group: IntArray | None = None
    """The group of each token, numbered from 0; None if groups are not compared."""
    spread: FloatArray | None = None
    """Standard deviation of the rewards of each token's group; None if groups are not compared."""
    planning: BoolArray | None = None
    """Tokens that open a strategy; None unless a remedy needs them."""
    mean_discriminant: FloatArray | None = None
    """sum p^2 (log p + H) over the vocabulary at each token; None unless a remedy needs it."""
    mismatched_ratio: FloatArray | None = None
    """The log-ratio to the start policy of another conversation's replies in the context of each
    conversation, shape (conversations,); None unless the algorithm needs it."""
    is_refined: BoolArray | None = None
    """Tokens drawn after a critique; None if groups stay as they were drawn."""
    progress: float = 0.0
    """Share of the run's steps before this one: 0 in the first, 1 in the last."""
    state: State = field(default_factory=dict)
    """The numbers carried by the remedy that receives this object, if any."""

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
        """Return (mean length of rewarded conversations) / (length of its conversation) per token.

        With these weights a mean over the batch's tokens becomes a mean over its conversations.
        """
        lengths = np.bincount(self.owners)
        rewarded = np.unique(self.owners[self.rewarded])
        mean = lengths[rewarded].mean() if len(rewarded) else 1.0
        weights: FloatArray = mean / lengths[self.owners]
        return weights

    @property
    def reply(self) -> IntArray:
        """The reply of each token, numbered from 0 over the whole batch, shape (tokens,)."""
        assert self.conversation is not None
        assert self.turn is not None
        pairs = np.stack([self.conversation, self.turn])
        return np.unique(pairs, axis=1, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Remedy(Options):
    """A remedy's config keys; a subclass plays one or more of the roles below."""

    chooses: ClassVar[bool] = False
    """Whether it selects tokens once a step."""
    needs_entropies: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    """Whether it depends on groups of conversations; refused if the algorithm compares none."""
    needs_negative: ClassVar[bool] = False
    """Whether it treats negative and positive advantages differently; refused if the algorithm has
    no negative ones, since the remedy would then only stop or shrink the whole update."""
    needs_planning: ClassVar[bool] = False
    needs_distribution: ClassVar[bool] = False
    """Whether it needs `StepTokens.mean_discriminant`: one more pass of a language model."""

    @classmethod
    def key(cls) -> str:
        return f"remedy.methods.{cls.name()}"

    @classmethod
    def name(cls) -> str:
        """Return the remedy's name, which is the name of its file."""
        return cls.__module__.rpartition(".")[2]

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError, naming a key, if the remedy cannot run with `config` at all."""

    def idle(self, config: RunConfig) -> str | None:
        """Return why the remedy has no effect with `config`, naming a key; None if it has one."""
        return None

    def follows_length(self) -> bool:
        """Return whether its effect at a step depends on the length of the run, as a schedule by
        `StepTokens.progress` does. The first part of such a run is not like a shorter run.
        """
        return False


class Adaptive(Remedy, ABC):
    """Carries numbers from step to step, which are saved in checkpoints."""

    needs_entropies: ClassVar[bool] = True

    @abstractmethod
    def observed(self, state: State, step: StepTokens) -> State:
        """Return the numbers for a step, from the previous step's numbers and this step's tokens.

        The other roles find them in `StepTokens.state`.
        """

    def at(self, state: State) -> Self:
        """Return the remedy with these numbers applied; only a Ratio returns another object."""
        return self


class Ratio(Remedy, ABC):
    """Shapes the policy-gradient term. With one update per batch every ratio is 1, and all shapes
    are the same.
    """

    @abstractmethod
    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        """Return the loss of each token, shapes (tokens,), in the library of the arrays."""

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
    """The tokens that were selected."""


class Weight(Remedy, ABC):
    """Weighs the policy-gradient term of each token."""

    chooses: ClassVar[bool] = True

    @abstractmethod
    def weigh(self, step: StepTokens) -> Weights:
        """Return the weights of a step, chosen before its first update."""


class Shift(Remedy, ABC):
    """Adds to the advantage of each token, before its loss is computed."""

    @abstractmethod
    def shift(self, step: StepTokens) -> FloatArray:
        """Return the numbers to add to a step's advantages, shape (tokens,)."""


class Sharpening(Remedy, ABC):
    """Multiplies the logits from which a token was drawn, in the policy-gradient term alone.

    The term's slope is then that of log softmax(factor * logits) at the token. Ratios and the
    sampling distribution stay as they are.
    """

    @abstractmethod
    def factors(self, step: StepTokens) -> FloatArray:
        """Return the factor of each token's logits, above 0; 1 changes nothing."""


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
        """Return the per-token input of `term`, shape (tokens,), computed once a step."""

    @abstractmethod
    def term(self, logp: Array, old_logp: Array, prepared: Array) -> Added:
        """Return the term at the current log-probabilities, in the library of the arrays.

        `prepared`: as returned by `prepare`.
        """


class Filling(Remedy, ABC):
    """Redraws groups whose rewards are all equal; refused if the algorithm compares no groups."""

    needs_groups: ClassVar[bool] = True

    @abstractmethod
    def most_tries(self) -> int:
        """Return how often a group is drawn in one step at most."""


class Penalty(Remedy, ABC):
    """Lowers the rewards of replies, for the advantages alone."""

    @abstractmethod
    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray:
        """Return the penalty of each reply, 0 or negative, in the shape of `tokens`.

        `tokens`: length of each reply; `limit`: the longest reply allowed.
        """


class Bonus(Remedy, ABC):
    """Subtracts coefficient * H, the mean exact entropy at the batch's tokens, from the loss."""

    @abstractmethod
    def start(self) -> float:
        """Return the coefficient before the first step."""

    @abstractmethod
    def applied(self, coefficient: float, entropy_nats: float) -> float:
        """Return the factor of H in this step; `entropy_nats`: H before its updates."""

    @abstractmethod
    def next(self, coefficient: float, entropy_nats: float) -> float:
        """Return the coefficient of the next step."""

    def scheduled(self, progress: float) -> Self:
        """Return the bonus at `progress`, the share of the run's steps before this one: itself,
        unless it has a schedule.
        """
        return self


class TokenBonus(Remedy, ABC):
    """Subtracts coefficient * H at each token, with a coefficient per token."""

    needs_entropies: ClassVar[bool] = True

    @abstractmethod
    def coefficients(self, step: StepTokens) -> FloatArray:
        """Return the factor of H at each token, shape (tokens,); a negative one lowers H."""
