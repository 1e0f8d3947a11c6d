"""What a remedy may do to a step: roles, which the methods in harness.train.remedies play.

Everything that needs the whole batch is chosen once a step, before its first update, from the
log-probabilities of the weights that spoke. The authors' codes choose anew in every micro-batch
and update, where the share that is chosen hangs on the batch's split over devices
(PRIME-RL/Entropy-Mechanism-of-RL, issue 20).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.config.ranges import in_range
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import BoolArray, TokenLoss

KINDS: dict[type, tuple[Any, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: (int | float, "a number"),
}


@dataclass(frozen=True, slots=True)
class StepTokens:
    """A step's tokens before its first update; arrays have shape (tokens,)."""

    logp: FloatArray
    """Of the weights that spoke, at the sampling temperature."""
    advantage: FloatArray
    entropy_nats: FloatArray | None
    """None unless a method asks for it."""
    start_logp: FloatArray | None
    """Under the start policy; None unless a method asks for it."""
    draws: np.random.Generator
    """Of this step alone, so that a resumed run draws the same."""
    touched: BoolArray | None = None
    """Tokens of conversations that a remedy had held or that lost something by one."""
    lost: BoolArray | None = None
    """Tokens of conversations that have no reward."""


def knob(default: Any, low: float, high: float) -> Any:
    """A number a user may set, with its range."""
    return dataclasses.field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True)
class Method:
    """A remedy's numbers; a subclass plays one or more of the roles below.

    Raises ConfigError, with the dotted key, for one of another type or out of its range.
    """

    chooses: ClassVar[bool] = False
    """Whether it picks out tokens once a step."""
    needs_entropies: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for part in dataclasses.fields(self):
            key, value = f"remedy.methods.{self.name()}.{part.name}", getattr(self, part.name)
            wanted, kind = KINDS[type(part.default)]
            if not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool):
                raise ConfigError(f"{key} must be {kind}, got {value!r}")
            if "range" in part.metadata:
                in_range(key, value, *part.metadata["range"])

    @classmethod
    def name(cls) -> str:
        """That of its file."""
        return cls.__module__.rpartition(".")[2]

    def idle(self, config: RunConfig) -> str | None:
        """Why this method can do nothing in such a run, by its key; None where it can act."""
        return None


class Ratio(Method, ABC):
    """Shapes the policy-gradient term. With one update a batch every ratio is 1 and all shapes
    are one.
    """

    @abstractmethod
    def surrogate(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        """The loss of each token, shapes (tokens,)."""

    def idle(self, config: RunConfig) -> str | None:
        if config.trainer.updates_per_batch > 1:
            return None
        return (
            "trainer.updates_per_batch must be 2 or more, since with one update a batch every "
            f"ratio is 1 and {self.name()} does nothing, got 1"
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a step's tokens, shapes (tokens,)."""

    weight: FloatArray
    """What the policy-gradient term is multiplied by."""
    chosen: BoolArray
    """The tokens that were picked out."""


class Weight(Method, ABC):
    """Weighs the policy-gradient term of each token."""

    chooses: ClassVar[bool] = True

    @abstractmethod
    def weigh(self, step: StepTokens) -> Weights:
        """Chosen once a step."""


@dataclass(frozen=True, slots=True)
class Added:
    """What a term adds to each token's loss; shapes (tokens,)."""

    value: FloatArray
    slope: FloatArray
    """d value / d logp."""


class Term(Method, ABC):
    """Adds a term to the loss of each token."""

    @abstractmethod
    def mark(self, step: StepTokens) -> FloatArray:
        """A number for each token that `term` goes by, shape (tokens,); chosen once a step."""

    @abstractmethod
    def term(self, logp: FloatArray, old_logp: FloatArray, mark: FloatArray) -> Added:
        """What is added."""


class Filling(Method, ABC):
    """Has groups held anew that teach nothing."""

    @abstractmethod
    def most_tries(self) -> int:
        """How often one is held at most."""


class Penalty(Method, ABC):
    """Takes something from what replies earn, for the advantages alone."""

    @abstractmethod
    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray:
        """What each reply loses, up to 0; `tokens` of each, `limit` the most; shapes are alike."""


class Bonus(Method, ABC):
    """Subtracts coefficient * H, the mean exact entropy at the batch's tokens, from the loss."""

    @abstractmethod
    def start(self) -> float:
        """The coefficient before the first step."""

    @abstractmethod
    def applied(self, coefficient: float, entropy_nats: float) -> float:
        """What H of this step is multiplied by, `entropy_nats` being H before its updates."""

    @abstractmethod
    def next(self, coefficient: float, entropy_nats: float) -> float:
        """The coefficient of the next step."""
