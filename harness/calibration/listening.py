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
    indices = [index for index, replies in enumerate(conversations) if replies]
    conversations = [conversations[index] for index in indices]
    users = [users[index] for index in indices]
    intentions = [intentions[index] for index in indices]
    distinct_users = sorted(set(users))
    if len(distinct_users) < LEAST_USERS:
        return math.nan
    intention_of_user = dict(zip(users, intentions, strict=True))
    labels = np.array([INTENTIONS.index(intention_of_user[user]) for user in distinct_users])
    rng = np.random.default_rng(SEED)
    labellings = np.stack([labels, *(rng.permutation(labels) for _ in range(PERMUTATIONS))])
    information, largest = information_nats(
        _counts(conversations, users, distinct_users), labellings
    )
    chance = float(information[1:].mean())
    scale = (
        largest / (largest - chance) if largest < MOST_SCALE * (largest - chance) else MOST_SCALE
    )
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
        indices = [index for index, replies in enumerate(conversations) if len(replies) > number]
        part = [conversations[index][number : number + 1] for index in indices]
        own_intentions = [intentions[index] for index in indices]
        own_users = [users[index] for index in indices]
        parts.append(listening_nats(part, own_intentions, own_users))
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
    rows, users = np.arange(len(labels))[:, None], counts.shape[1]
    full, partial = np.zeros(len(labels)), np.zeros(labels.shape)
    largest = 0.0
    for outcomes in counts:
        size = outcomes.sum(axis=1)
        total, by_outcome, by_label = size.sum(), outcomes.sum(axis=0), size @ members
        joint = np.swapaxes(outcomes.T @ members, 1, 2)  # (labellings, labels, outcomes)
        outcome_sum, label_sums = _log_sum(by_outcome), _log_sum(by_label)
        cells = _log_sum(joint)
        full += _n_log_n(total) + cells.sum(axis=1) - outcome_sum - label_sums
        largest += float(_n_log_n(total) - max(outcome_sum, label_sums[0]))
        remaining = total - size
        own_joint, own_label = joint[rows, labels], by_label[rows, labels]
        partial += _n_log_n(remaining) - _log_sum(by_outcome - outcomes)
        partial -= label_sums[:, None] - _n_log_n(own_label) + _n_log_n(own_label - size)
        partial += cells.sum(axis=1)[:, None] - cells[rows, labels] + _log_sum(own_joint - outcomes)
    size = counts.sum(axis=(0, 2))
    plain, left_out = full / size.sum(), partial / (size.sum() - size)
    jackknifed: Floats = users * plain - (users - 1) * left_out.mean(axis=1)
    return jackknifed, largest / float(size.sum())


def _log_sum(counts: Floats) -> Floats:
    """Return the sum of n log n over the last axis."""
    summed: Floats = _n_log_n(counts).sum(axis=-1)
    return summed


def _n_log_n(counts: Floats) -> Floats:
    """Return n log n, with 0 for counts up to LEAST_COUNT."""
    return counts * np.log(np.where(counts > LEAST_COUNT, counts, 1.0))


def _counts(
    conversations: Sequence[Strategies], users: Sequence[int], distinct_users: Sequence[int]
) -> Floats:
    """Return the count of each outcome for each user, shape (reply numbers, users, 9)."""
    rows = {user: row for row, user in enumerate(distinct_users)}
    counts = np.zeros((max(map(len, conversations)), len(distinct_users), len(STRATEGIES) + 1))
    for user, replies in zip(users, conversations, strict=True):
        for number, recognised in enumerate(replies):
            counts[number, rows[user]] += _parts(recognised)
    return counts


@lru_cache(maxsize=1024)
def _parts(recognised: tuple[str, ...]) -> Floats:
    """Return the share of each strategy, and of none, in a reply, shape (9,)."""
    count = max(1, len(recognised))
    shares = [recognised.count(strategy) / count for strategy in STRATEGIES]
    return np.array([*shares, float(not recognised)])
