"""GRPO's clipped loss as a function of log-probabilities, with its gradient (arXiv 2402.03300)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.train.advantages import FloatArray


@dataclass(frozen=True, slots=True)
class ClippedLoss:
    """The loss over all tokens of a batch, and which of them it left alone."""

    value: float
    gradient: FloatArray
    """d value / d logp, shape (tokens,)."""
    low_share: float
    """Share of tokens with a negative advantage whose ratio fell below 1 - clip_low."""
    high_share: float
    """Share of tokens with a positive advantage whose ratio rose above 1 + clip_high."""


def clipped_loss(
    logp: FloatArray,
    old_logp: FloatArray,
    advantage: FloatArray,
    clip_low: float,
    clip_high: float,
) -> ClippedLoss:
    """-mean over tokens of min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = exp(logp - old).

    All arrays have shape (tokens,). The mean is over the whole batch, so that every token
    weighs the same (arXiv 2503.14476, section 3.3).
    """
    ratio = np.exp(logp - old_logp)
    low = (advantage < 0) & (ratio < 1 - clip_low)
    high = (advantage > 0) & (ratio > 1 + clip_high)
    kept = np.clip(ratio, 1 - clip_low, 1 + clip_high)
    gain = np.minimum(ratio * advantage, kept * advantage)
    return ClippedLoss(
        value=-float(gain.mean()),
        gradient=-np.where(low | high, 0.0, ratio * advantage) / len(logp),
        low_share=float(low.mean()),
        high_share=float(high.mean()),
    )
