"""GRPO's clipped loss as a function of log-probabilities, with its gradient (arXiv 2402.03300).

A loss here is a value and a slope a token; what they are divided by is the caller's. The language
model is trained on the slopes as they are, so that no formula stands in two places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.train.algorithms.advantages import FloatArray

BoolArray = NDArray[np.bool_]

MOST_IMPORTANCE = 3.0
"""No token of an engine weighs more, however much likelier the trainer finds it (TRL's default)."""


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """The loss of each token of a batch; all arrays have shape (tokens,)."""

    value: FloatArray
    slope: FloatArray
    """d value / d logp."""
    low: BoolArray
    """Where the advantage is negative and the ratio fell below its bound."""
    high: BoolArray
    """Where the advantage is positive and the ratio rose above its bound."""


def clipped(
    logp: FloatArray, old_logp: FloatArray, advantage: FloatArray, low: float, high: float
) -> TokenLoss:
    """-min(r A, clip(r, 1 - low, 1 + high) A), r = exp(logp - old_logp), of each token."""
    ratio = np.exp(logp - old_logp)
    below = (advantage < 0) & (ratio < 1 - low)
    above = (advantage > 0) & (ratio > 1 + high)
    gain = np.minimum(ratio * advantage, np.clip(ratio, 1 - low, 1 + high) * advantage)
    return TokenLoss(-gain, -np.where(below | above, 0.0, ratio * advantage), below, above)


def unclipped(logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
    """-r A of each token."""
    loss = -np.exp(logp - old_logp) * advantage
    nowhere = np.zeros(len(logp), bool)
    return TokenLoss(loss, loss, nowhere, nowhere)


def kept_in_value_only(
    logp: FloatArray,
    old_logp: FloatArray,
    advantage: FloatArray,
    low: tuple[float, float],
    high: tuple[float, float],
    dual_clip: float,
) -> TokenLoss:
    """A clip that lets the gradient through: beyond a bound the ratio is held there in value, and
    its slope is what it would be there.

    `low`, `high`: a bound, as its distance from 1, and the weight of what lies beyond it. A token
    with A < 0 and r > `dual_clip` loses dual_clip |A|, without a slope (arXiv 1912.09729).
    """
    ratio = np.exp(logp - old_logp)
    below = (advantage < 0) & (ratio < 1 - low[0])
    above = (advantage > 0) & (ratio > 1 + high[0])
    kept = np.where(below, low[1] * (1 - low[0]), np.where(above, high[1] * (1 + high[0]), ratio))
    far = (advantage < 0) & (ratio > dual_clip)
    value = -np.where(far, dual_clip, kept) * advantage
    return TokenLoss(value, np.where(far, 0.0, value), below, above)
