"""Listening: the mutual information of a policy's strategies and the user's hidden intention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.config.run import INTENTIONS, STRATEGIES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Strategies = Sequence[tuple[str, ...]]
"""The strategies that the user recognised in each reply of a conversation."""
LEAST_USERS = 16
"""With fewer users, most intentions have at most one user, and the estimate is meaningless."""
PERMUTATIONS = 8
SEED = 20_260_103
"""Seed of the permutations, which are the same at every evaluation."""
MOST_SCALE = 2.0
LEAST_COUNT = 1e-9
"""Counts are multiples of 1 / (strategies of a reply); a smaller number is a rounding error."""


def listening_nats(
    conversations: Sequence[Strategies], intentions: Sequence[str], users: Sequence[int]
) -> float:
    """Return I(strategy; hidden intention | reply number) in nats.

    nan for fewer than LEAST_USERS users. A reply with several recognised strategies counts in equal
    parts for each; a reply with none counts for a ninth outcome, "none". Reply numbers are weighted
    by their number of conversations.

    The plug-in estimate is strongly biased: 0.45 nats for a random supporter and 64 users met once,
    and still 0.25 with the Miller-Madow correction, which takes conversations with one user as
    independent. Hence two corrections. The estimate is jackknifed over users. Then its mean C over
    permutations of the intentions among users is subtracted, and the rest is scaled by M / (M - C),
    at most MOST_SCALE, where M is the largest possible value of the estimate. As in adjusted mutual
    information (Vinh et al., JMLR 11, 2010), independence has mean 0 and complete dependence keeps
    its value.
    """
    met = [n for n, replies in enumerate(conversations) if replies]
    conversations, users = [conversations[n] for n in met], [users[n] for n in met]
    intentions = [intentions[n] for n in met]
    everyone = sorted(set(users))
    if len(everyone) < LEAST_USERS:
        return math.nan
    of_user = dict(zip(users, intentions, strict=True))
    own = np.array([INTENTIONS.index(of_user[user]) for user in everyone])
    rng = np.random.default_rng(SEED)
    came_for = np.stack([own, *(rng.permutation(own) for _ in range(PERMUTATIONS))])
    information, most = information_nats(_counts(conversations, users, everyone), came_for)
    chance = float(information[1:].mean())
    scale = most / (most - chance) if most < MOST_SCALE * (most - chance) else MOST_SCALE
    return (float(information[0]) - chance) * scale


def listening_by_reply(
    conversations: Sequence[Strategies], intentions: Sequence[str], users: Sequence[int]
) -> list[float]:
    """Return I(strategy; hidden intention) in nats for each reply number, in order.

    It is `listening_nats` for each reply number alone, over the conversations that reached it; nan
    if these have fewer than LEAST_USERS users.
    """
    parts = list[float]()
    for number in range(max(map(len, conversations), default=0)):
        here = [n for n, replies in enumerate(conversations) if len(replies) > number]
        own = [conversations[n][number : number + 1] for n in here]
        parts.append(listening_nats(own, [intentions[n] for n in here], [users[n] for n in here]))
    return parts


def information_nats(counts: Floats, labels: Integers) -> tuple[Floats, float]:
    """Return I(outcome; label | reply number) in nats for each labelling, jackknifed over users.

    `counts` are the users' outcomes, shape (reply numbers, users, outcomes); `labels` are the
    users' labels, shape (labellings, users). Also returns the largest possible value of the plug-in
    estimate, the smaller of the two entropies, under the first labelling.

    With n_c observations in a cell, N I = N log N + sum over cells n_c log n_c - the same sums over
    outcomes and over labels. Leaving out a user changes these in the cells of that user's label.
    """
    members = np.eye(int(labels.max()) + 1)[labels]
    which, users = np.arange(len(labels))[:, None], counts.shape[1]
    whole, without = np.zeros(len(labels)), np.zeros(labels.shape)
    most = 0.0
    for own in counts:
        size = own.sum(axis=1)
        total, by_outcome, by_label = size.sum(), own.sum(axis=0), size @ members
        both = np.swapaxes(own.T @ members, 1, 2)  # (labellings, labels, outcomes)
        of_outcomes, of_labels = _log_sum(by_outcome), _log_sum(by_label)
        cells = _log_sum(both)
        whole += _n_log_n(total) + cells.sum(axis=1) - of_outcomes - of_labels
        most += float(_n_log_n(total) - max(of_outcomes, of_labels[0]))
        left = total - size
        here, mine = both[which, labels], by_label[which, labels]
        without += _n_log_n(left) - _log_sum(by_outcome - own)
        without -= of_labels[:, None] - _n_log_n(mine) + _n_log_n(mine - size)
        without += cells.sum(axis=1)[:, None] - cells[which, labels] + _log_sum(here - own)
    size = counts.sum(axis=(0, 2))
    plain, left_out = whole / size.sum(), without / (size.sum() - size)
    jackknifed: Floats = users * plain - (users - 1) * left_out.mean(axis=1)
    return jackknifed, most / float(size.sum())


def _log_sum(counts: Floats) -> Floats:
    """Return the sum of n log n over the last axis."""
    summed: Floats = _n_log_n(counts).sum(axis=-1)
    return summed


def _n_log_n(counts: Floats) -> Floats:
    """Return n log n, with 0 for counts up to LEAST_COUNT."""
    return counts * np.log(np.where(counts > LEAST_COUNT, counts, 1.0))


def _counts(
    conversations: Sequence[Strategies], users: Sequence[int], everyone: Sequence[int]
) -> Floats:
    """Return the count of each outcome for each user, shape (reply numbers, users, 9)."""
    place = {user: n for n, user in enumerate(everyone)}
    counts = np.zeros((max(map(len, conversations)), len(everyone), len(STRATEGIES) + 1))
    for user, replies in zip(users, conversations, strict=True):
        for number, recognised in enumerate(replies):
            counts[number, place[user]] += _parts(recognised)
    return counts


@lru_cache(maxsize=1024)
def _parts(recognised: tuple[str, ...]) -> Floats:
    """Return the share of each strategy, and of none, in a reply, shape (9,)."""
    count = max(1, len(recognised))
    shares = [recognised.count(s) / count for s in STRATEGIES]
    return np.array([*shares, float(not recognised)])
