"""How much the words of a language model depend on the conversation, from cross-scored replies."""

from __future__ import annotations

import math

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray


def words_information(log_p: FloatArray) -> tuple[float, float]:
    """I(words; conversation) in nats, and the share of replies whose own conversation fits best.

    `log_p`: log-probability of reply i after conversation j, shape (n, n), reply i being drawn
    after conversation i. I is the mean over i of log p_ii - log mean_j p_ij, unbiased for these n
    conversations, equally likely, at most log n (arXiv 2604.06268). Of m conversations that fit a
    reply equally well, its own counts for 1 / m: who says the same to everyone retrieves 1 / n.
    """
    own, count = np.diagonal(log_p), len(log_p)
    most = log_p.max(axis=1)
    mixed = most + np.log(np.exp(log_p - most[:, None]).sum(axis=1)) - math.log(count)
    fits = log_p == most[:, None]
    retrieved = np.diagonal(fits) / fits.sum(axis=1)
    return float((own - mixed).mean()), float(retrieved.mean())
