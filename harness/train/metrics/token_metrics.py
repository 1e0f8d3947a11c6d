"""Metrics of a batch's tokens: entropies for its metrics row.

Keys are those of harness.records.metrics.MEASURED. A metric that could not be measured is None.
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
    """The policy's own tokens (tabular: acts) of one batch; all arrays have shape (tokens,)."""

    entropy_nats: FloatArray
    """Exact entropy at each token, at the sampling temperature and before the update."""
    entropy_t1_nats: FloatArray
    """Exact entropy at temperature 1, before the update."""
    logp: FloatArray
    """Log-probability of the drawn token at the sampling temperature."""
    advantage: FloatArray
    conversation: IntArray
    """Number of the conversation in its batch, from 0."""
    turn: IntArray
    """Number of the reply in its conversation, from 1."""

    @property
    def mean_nats(self) -> float:
        """The mean entropy per token at the sampling temperature."""
        return float(self.entropy_nats.mean())


def entropy_metrics(trace: TokenTrace, group_size: int) -> Metrics:
    """Return H of the batch, its standard error, and its distribution over conversations and turns.

    The error is clustered by group, whose conversations share user and opening. The mean is summed
    by conversation, which keeps it bit-identical to older versions.
    """
    mean, _ = ratio_mean(trace.entropy_nats, trace.conversation)
    _, error = ratio_mean(trace.entropy_nats, trace.conversation // group_size)
    per_turn = {
        f"entropy/turn_{n}": mean_or_none(trace.entropy_nats[trace.turn == n])
        for n in range(1, MAX_TURNS + 1)
    }
    lengths = _cluster_sizes(trace.conversation)
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
    """Return the mean over all values and its standard error clustered by `cluster`.

    The mean is a ratio, sum of sums / sum of sizes. Its error is the linearised one (Cochran,
    Sampling Techniques, section 6.3) with the factor m / (m - 1) for m clusters. Both are None
    without values; the error is None for a single cluster.
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
    """Return the share of the total entropy at the 20% of tokens with the highest entropy; None if
    the total is 0.
    """
    total = float(entropy_nats.sum())
    if total <= 0:
        return None
    count = math.ceil(TOP_SHARE * len(entropy_nats))
    return float(np.sort(entropy_nats)[-count:].sum() / total)


def mean_or_none(values: Sequence[float] | NDArray[Any]) -> float | None:
    """Return the mean of `values`; None if there are none."""
    return float(np.mean(values)) if len(values) else None


def _cluster_sizes(cluster: IntArray) -> IntArray:
    counts = np.bincount(cluster)
    return counts[counts > 0]
