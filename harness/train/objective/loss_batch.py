"""Inputs and results of a language model's loss (`language_loss.py`), which ranks exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.advantages import IntArray


@dataclass(frozen=True, slots=True)
class LossBatch:
    """Conversations to learn from; lists run over conversations."""

    ids: list[list[int]]
    own: list[list[bool]]
    """True at the policy's own tokens."""
    advantage: list[list[float]]
    """The advantage of each own token."""
    old_logp: list[Tensor] | None
    """Log-probabilities of the own tokens when they were drawn; None if the weights have not
    changed since."""
    engine_logp: list[list[float]] | None = None
    """Log-probabilities by the engine that drew the tokens; None if the model itself drew them."""

    def some(self, members: Sequence[int]) -> LossBatch:
        """Return a batch of the conversations `members` that can be sent to another process."""
        return LossBatch(
            [self.ids[i] for i in members],
            [self.own[i] for i in members],
            [self.advantage[i] for i in members],
            None if self.old_logp is None else [self.old_logp[i].cpu() for i in members],
            None if self.engine_logp is None else [self.engine_logp[i] for i in members],
        )

    def places(self, members: Sequence[int]) -> IntArray:
        """Return the indices of the own tokens of the conversations `members` in the batch."""
        by_conversation = np.split(
            np.arange(self.tokens), np.cumsum([sum(row) for row in self.own])
        )
        return np.concatenate([by_conversation[i] for i in members] or [np.arange(0)])

    @property
    def tokens(self) -> int:
        """Number of own tokens."""
        return sum(sum(row) for row in self.own)


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Results at one conversation's own tokens, before the update; shapes (own tokens,)."""

    logp: Tensor
    entropy_nats: Tensor
    """At the sampling temperature."""
    entropy_t1_nats: Tensor
    """At temperature 1."""

    def to(self, device: torch.device) -> TokenScores:
        """Return a copy on `device`."""
        columns = self.logp, self.entropy_nats, self.entropy_t1_nats
        return TokenScores(*(column.to(device) for column in columns))


@dataclass(frozen=True, slots=True)
class LossResult:
    """The loss of a batch; its gradient is in the parameters' `grad`."""

    value: float
    scored: list[TokenScores]
    low_share: float
    """Share of tokens with a negative advantage whose ratio fell below 1 - clip_low."""
    high_share: float
    """Share of tokens with a positive advantage whose ratio rose above 1 + clip_high."""
    acted_share: float = 0.0
    """Share of tokens that a remedy acted on."""


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Everything except the batch that determines its loss."""

    stack: RemedyStack
    selection: TokenSelection
    """The remedies' selection at the own tokens, conversation by conversation."""
    temperature: float
    """The sampling temperature."""
    denominator: float
    """Divisor of the summed loss."""
    value: ValueTerm | None = None
    """The loss of a critic that shares the policy's trunk; None without one."""

    def some(self, indices: IntArray) -> LossSettings:
        """Return the settings for the own tokens at `indices`; the denominator stays as it is."""
        value = None if self.value is None else self.value.at(indices)
        return replace(self, selection=self.selection.at(indices), value=value)
