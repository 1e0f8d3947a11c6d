"""How much the words of a language model depend on the conversation, from cross-scored replies.

All of it is in nats, and of a few frozen conversations: what words tell of which one it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray


def token_information(log_p: FloatArray, own: int) -> FloatArray:
    """What each token of a reply tells of the conversation, in nats, given the tokens before it.

    `log_p`: of each token after each conversation, shape (conversations, tokens); `own`: the one
    that the reply was drawn after. By the chain rule these are the terms log p(z_t | x, z_<t) -
    log p(z_t | z_<t), the second under the mixture of all conversations, each weighed by how well
    it fits the tokens before; they add up to the reply's part of `words_information`. A term may
    be below 0.
    """
    zero = np.zeros((len(log_p), 1))
    before = np.concatenate([zero, np.cumsum(log_p, axis=1)], axis=1)
    mixed = np.logaddexp.reduce(before, axis=0)
    told: FloatArray = log_p[own] - np.diff(mixed)
    return told


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


def information_by_class(
    log_p: Sequence[FloatArray], classes: Mapping[str, Sequence[BoolArray]]
) -> dict[str, float]:
    """The parts of I(words; conversation) by classes of tokens, in nats a reply.

    `log_p`: of each reply i, drawn after conversation i, the log-probability of its tokens after
    every conversation, shape (conversations, tokens of i); `classes`: by name, which tokens of each
    reply are of it. A class has the mean over replies of the sum of its `token_information`, 0
    where no token is of it. Classes that part the tokens have parts that add up to the whole,
    without bias as that is: no share is estimated.
    """
    told = [token_information(own, number) for number, own in enumerate(log_p)]
    return {
        name: float(np.mean([nats[of].sum() for nats, of in zip(told, marks, strict=True)]))
        for name, marks in classes.items()
    }
