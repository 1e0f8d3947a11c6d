"""Losses as functions of log-probabilities, with their gradients (clipped: arXiv 2402.03300).

A loss is a value and a slope per token; the caller divides by the denominator. Each formula is
written once for numpy and torch, and the language model is trained on these slopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from harness.train.policy_gradient.arrays import Array, namespace, sums_by

BoolArray = NDArray[np.bool_]

MOST_IMPORTANCE = 3.0
"""Upper bound on the importance weight of a token drawn by a separate engine (TRL's default)."""


@dataclass(frozen=True, slots=True)
class LossTokens:
    """Tokens to learn from and their conversations; arrays have shape (tokens,)."""

    logp: Array
    """Log-probabilities under the current weights, at the sampling temperature."""
    old_logp: Array
    """Log-probabilities under the weights that drew the tokens."""
    advantage: Array
    conversation: Array
    """The conversation of each token, numbered from 0."""
    conversations: int
    """Number of conversations, including those without a token here."""
    prepared: tuple[Array, ...] = ()
    """The arrays that the algorithm's `prepare` returned for the whole batch, at these tokens."""

    @property
    def lengths(self) -> Array:
        """The number of tokens here of each token's conversation, shape (tokens,)."""
        ones = namespace(self.logp).ones_like(self.logp)
        return sums_by(ones, self.conversation, self.conversations)[self.conversation]

    def mean_by_conversation(self, values: Array) -> Array:
        """Return the mean of `values` over each token's conversation, shape (tokens,).

        Losses with ratios of whole sequences use it. Their algorithm sets `by_conversation`, so
        that its loss gets all tokens of a conversation at once.
        """
        sums = sums_by(values, self.conversation, self.conversations)
        return sums[self.conversation] / self.lengths


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """The loss of each token of a batch; all arrays have shape (tokens,)."""

    value: Array
    slope: Array
    """d (sum of all values) / d logp of the token."""
    low: Array
    """Where the advantage is negative and the ratio fell below its bound."""
    high: Array
    """Where the advantage is positive and the ratio rose above its bound."""

    @classmethod
    def without_clip(cls, value: Array, slope: Array) -> Self:
        """Return a loss in which no ratio is clipped."""
        nowhere = namespace(value).zeros_like(value) != 0
        return cls(value, slope, nowhere, nowhere)

    def at(self, indices: slice) -> TokenLoss:
        """Return the loss of the tokens at `indices`."""
        return TokenLoss(
            self.value[indices], self.slope[indices], self.low[indices], self.high[indices]
        )


def clipped_loss(
    logp: Array, old_logp: Array, advantage: Array, low: float, high: float
) -> TokenLoss:
    """Return -min(r A, clip(r, 1 - low, 1 + high) A) of each token, r = exp(logp - old_logp)."""
    xp = namespace(logp)
    ratio = xp.exp(logp - old_logp)
    below = (advantage < 0) & (ratio < 1 - low)
    above = (advantage > 0) & (ratio > 1 + high)
    gain = xp.minimum(ratio * advantage, xp.clip(ratio, 1 - low, 1 + high) * advantage)
    return TokenLoss(-gain, -xp.where(below | above, 0.0, ratio * advantage), below, above)


def unclipped(logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
    """Return -r A of each token, r = exp(logp - old_logp)."""
    xp = namespace(logp)
    loss = -xp.exp(logp - old_logp) * advantage
    return TokenLoss.without_clip(loss, loss)


def imitating(logp: Array, weight: Array) -> TokenLoss:
    """Return -w log p of each token, the cross-entropy, for tokens drawn by any policy."""
    return TokenLoss.without_clip(-weight * logp, -weight)


def shaped_loss(logp: Array, advantage: Array, shaping: float) -> TokenLoss:
    """Return -A p / (p + shaping) of each token, drawn by any policy (arXiv 2506.03106)."""
    xp = namespace(logp)
    p = xp.exp(logp)
    value, slope = p / (p + shaping), shaping * p / (p + shaping) ** 2
    return TokenLoss.without_clip(-advantage * value, -advantage * slope)


def gradient_preserving_clip(
    logp: Array,
    old_logp: Array,
    advantage: Array,
    low: tuple[float, float],
    high: tuple[float, float],
    dual_clip: float,
) -> TokenLoss:
    """Return a clipped loss that keeps its gradient: beyond a bound the loss takes the value that
    it has at the bound, and the slope that it has there.

    `low`, `high`: a bound, as its distance from 1, and a factor for tokens beyond it. A token with
    A < 0 and r > `dual_clip` has the loss dual_clip |A| and no slope (arXiv 1912.09729).
    """
    xp = namespace(logp)
    ratio = xp.exp(logp - old_logp)
    below = (advantage < 0) & (ratio < 1 - low[0])
    above = (advantage > 0) & (ratio > 1 + high[0])
    beyond = xp.where(above, high[1] * (1 + high[0]), ratio)
    bounded = xp.where(below, low[1] * (1 - low[0]), beyond)
    is_far = (advantage < 0) & (ratio > dual_clip)
    value = -xp.where(is_far, dual_clip, bounded) * advantage
    return TokenLoss(value, xp.where(is_far, 0.0, value), below, above)
