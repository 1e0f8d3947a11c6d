"""Measures of a batch's tokens: entropies for its metrics row.

Keys are those of harness.records.metrics.MEASURED. What could not be measured is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.config.run import MAX_TURNS
from harness.train.policy_gradient.advantages import FloatArray, IntArray, covariance

Metrics = dict[str, float | None]

TOP_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class TokenTrace:
    """The policy's own tokens (acts for tabular) of one batch; all arrays have shape (tokens,)."""

    entropy_nats: FloatArray
    """Exact entropy at each token: sampling temperature, weights before the update."""
    entropy_t1_nats: FloatArray
    """The same at temperature 1."""
    logp: FloatArray
    """Log-probability of the drawn token at the sampling temperature."""
    advantage: FloatArray
    conversation: IntArray
    """Number of the conversation in its batch, from 0."""
    turn: IntArray
    """Number of the reply in its conversation, from 1."""

    @property
    def mean_nats(self) -> float:
        """Mean entropy of a token at the sampling temperature."""
        return float(self.entropy_nats.mean())


def entropy_metrics(trace: TokenTrace, group_size: int) -> Metrics:
    """H of the batch, its standard error, and how it is spread over conversations and turns.

    Groups are the units of the error: the conversations of one share user and opening. The mean
    adds up conversations, as it did before errors were by group, so that H keeps its last bit.
    """
    mean, _ = ratio_mean(trace.entropy_nats, trace.conversation)
    _, error = ratio_mean(trace.entropy_nats, trace.conversation // group_size)
    per_turn = {
        f"entropy/turn_{n}": mean_or_none(trace.entropy_nats[trace.turn == n])
        for n in range(1, MAX_TURNS + 1)
    }
    lengths = _present(trace.conversation)
    sums = np.bincount(trace.conversation, weights=trace.entropy_nats)
    sums = sums[np.bincount(trace.conversation) > 0]
    return {
        "entropy": mean,
        "entropy_se": error,
        "entropy/t1": mean_or_none(trace.entropy_t1_nats),
        "entropy/mean_of_means": mean_or_none(sums / lengths),
        **per_turn,
        "entropy/top20_share": top_share(trace.entropy_nats),
        "cov/mean": covariance(trace.logp, trace.advantage),
        "completions/mean_length": mean_or_none(lengths),
        "completions/max_length": float(lengths.max()) if len(lengths) else None,
    }


def ratio_mean(values: FloatArray, cluster: IntArray) -> tuple[float | None, float | None]:
    """Mean over all values and its standard error with whole clusters as the units.

    The mean is a ratio, sum of sums / sum of sizes; its error is the linearised one
    (Cochran, Sampling Techniques, section 6.3) with m / (m - 1) for m clusters.
    """
    if not len(values):
        return None, None
    present = np.bincount(cluster) > 0
    sizes = np.bincount(cluster)[present]
    sums = np.bincount(cluster, weights=values)[present]
    mean, count = float(sums.sum() / sizes.sum()), len(sizes)
    if count < 2:
        return mean, None
    residual = sums - mean * sizes
    variance = count / (count - 1) * (residual**2).sum() / sizes.sum() ** 2
    return mean, math.sqrt(variance)


def top_share(entropy_nats: FloatArray) -> float | None:
    """Share of all entropy that the 20% of tokens with most hold; None where there is none."""
    total = float(entropy_nats.sum())
    if total <= 0:
        return None
    count = math.ceil(TOP_SHARE * len(entropy_nats))
    return float(np.sort(entropy_nats)[-count:].sum() / total)


def mean_or_none(values: Sequence[float] | NDArray[Any]) -> float | None:
    """The mean of `values`; None if there are none."""
    return float(np.mean(values)) if len(values) else None


def _present(cluster: IntArray) -> IntArray:
    counts = np.bincount(cluster)
    return counts[counts > 0]
