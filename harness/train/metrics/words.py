"""How much a language model's words depend on the conversation, from cross-scored replies.

The measure is the information, in nats, that a reply gives about which of a few frozen
conversations it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray


def token_information(log_p: FloatArray, own: int) -> FloatArray:
    """Return the information of each token of a reply about the conversation, given the tokens
    before it, in nats, shape (tokens,).

    `log_p`: log-probability of each token after each conversation, shape (conversations, tokens);
    `own`: the conversation after which the reply was drawn. By the chain rule the terms are
    log p(z_t | x, z_<t) - log p(z_t | z_<t), where the second is under the mixture of all
    conversations, weighted by their likelihood of the tokens before. They sum to the reply's part
    of `words_information`. A term may be negative.
    """
    zero = np.zeros((len(log_p), 1))
    prefix_log_p = np.concatenate([zero, np.cumsum(log_p, axis=1)], axis=1)
    mixed = np.logaddexp.reduce(prefix_log_p, axis=0)
    information: FloatArray = log_p[own] - np.diff(mixed)
    return information


def words_information(log_p: FloatArray) -> tuple[float, float]:
    """Return I(words; conversation) in nats, and the share of replies whose own conversation fits
    best.

    `log_p`: log-probability of reply i after conversation j, shape (n, n), where reply i was drawn
    after conversation i. I is the mean over i of log p_ii - log mean_j p_ij, unbiased for these n
    equally likely conversations, and at most log n (arXiv 2604.06268). A reply that m conversations
    fit best equally counts 1 / m: a policy that says the same to everyone scores 1 / n.
    """
    own, count = np.diagonal(log_p), len(log_p)
    best = log_p.max(axis=1)
    mixed = best + np.log(np.exp(log_p - best[:, None]).sum(axis=1)) - math.log(count)
    fits = log_p == best[:, None]
    retrieved = np.diagonal(fits) / fits.sum(axis=1)
    return float((own - mixed).mean()), float(retrieved.mean())


def information_by_class(
    log_p: Sequence[FloatArray], classes: Mapping[str, Sequence[BoolArray]]
) -> dict[str, float]:
    """Return the parts of I(words; conversation) by classes of tokens, in nats per reply.

    `log_p`: for each reply i, drawn after conversation i, the log-probabilities of its tokens after
    every conversation, shape (conversations, tokens of i); `classes`: by name, the mask of the
    class's tokens in each reply. The part of a class is the mean over replies of the sum of its
    tokens' `token_information`. The parts of disjoint classes that cover all tokens sum to I, and
    are unbiased like I.
    """
    information = [token_information(reply_log_p, index) for index, reply_log_p in enumerate(log_p)]
    return {
        name: float(
            np.mean([nats[mask].sum() for nats, mask in zip(information, marks, strict=True)])
        )
        for name, marks in classes.items()
    }
