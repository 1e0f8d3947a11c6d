"""Advantages from rewards, compared within groups of conversations (arXiv 2402.03300)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TINY = 1e-6
"""Keeps a division finite where the floor is 0; far below the rewards' resolution of 0.05."""


def group_means(rewards: FloatArray, group_size: int) -> FloatArray:
    """Return the mean of each group's known rewards, shape (groups,); nan where none is known."""
    known, values = _split_known(rewards, group_size)
    count = known.sum(axis=1)
    return np.where(count > 0, values.sum(axis=1) / np.maximum(count, 1), np.nan)


def group_stds(rewards: FloatArray, group_size: int) -> FloatArray:
    """Return the population standard deviation of each group's known rewards, shape (groups,).

    It is exactly 0 where all rewards are equal, and nan where none is known.
    """
    known, values = _split_known(rewards, group_size)
    means = group_means(rewards, group_size)
    deviations = np.where(known, values - np.nan_to_num(means)[:, None], 0.0)
    std = np.sqrt((deviations**2).sum(axis=1) / np.maximum(known.sum(axis=1), 1))
    lowest = np.where(known, values, np.inf).min(axis=1)
    highest = np.where(known, values, -np.inf).max(axis=1)
    # A mean of equal numbers may differ from them in the last bit; equal rewards carry no signal.
    std = np.where(lowest < highest, std, 0.0)
    std[np.isnan(means)] = np.nan
    return np.asarray(std)


def group_relative(
    rewards: FloatArray, group_size: int, std_floor: float | None, std_over: str = "group"
) -> FloatArray:
    """Return advantages, shape (n,), for rewards of shape (n,) in which groups are consecutive.

    A missing reward (nan) is left out of its group's baseline and gets advantage 0.
    `std_floor`: divide by max(std, floor); 0 divides by the std alone; None does not divide, as in
    arXiv 2503.20783, section 3.2. `std_over`: `group` for the std of the group's rewards, `batch`
    for that of all rewards of the batch, as in arXiv 2508.08221.
    """
    known, values = _split_known(rewards, group_size)
    means, stds = group_means(rewards, group_size), group_stds(rewards, group_size)
    centred = np.where(known & (stds > 0)[:, None], values - np.nan_to_num(means)[:, None], 0.0)
    if std_floor is None:
        return centred.ravel()
    if std_over == "batch" and known.any():
        stds = np.full_like(stds, values[known].std())
    divisor = np.maximum(stds, std_floor) if std_floor > 0 else stds + TINY
    scaled: FloatArray = centred / np.nan_to_num(divisor, nan=1.0)[:, None]
    return scaled.ravel()


def leave_one_out(rewards: FloatArray, group_size: int) -> FloatArray:
    """Return each reward minus the mean of the others in its group, shape (n,).

    Groups are consecutive. A missing reward (nan) is left out of the baselines and gets 0, as does
    the only known reward of a group.
    """
    known = _split_known(rewards, group_size)[0]
    count = known.sum(axis=1, keepdims=True)
    # n / (n - 1) (r - mean of all) is r - mean of the others
    scale = np.where(count > 1, count / np.maximum(count - 1, 1), 0.0)
    centred = group_relative(rewards, group_size, std_floor=None).reshape(-1, group_size)
    return (scale * centred).ravel()


def permuted_within_groups(
    advantages: FloatArray, known: NDArray[np.bool_], group_size: int, rng: np.random.Generator
) -> FloatArray:
    """Return `advantages`, shape (n, turns), with the rows of each group permuted: a null control.

    Whole rows are permuted, so the advantages of one conversation stay together. Conversations
    without a reward, where `known`, shape (n,), is False, keep their row.
    """
    groups = len(advantages) // group_size
    order = rng.permuted(np.tile(np.arange(group_size), (groups, 1)), axis=1)
    source = (order + group_size * np.arange(groups)[:, None]).ravel()
    # each group has as many known rows as known places, so the boolean indexing stays within groups
    source[known], source[~known] = source[known[source]], np.flatnonzero(~known)
    permuted: FloatArray = advantages[source]
    return permuted


def partners(count: int, group_size: int) -> IntArray:
    """Return for each of `count` conversations the index of one with another user, shape (count,).

    This is the conversation at the same place in the next group. A batch of one group has no other
    user; the index is then that of the next conversation.
    """
    distance = group_size if count > group_size else 1
    return (np.arange(count) + distance) % count


def _split_known(rewards: FloatArray, group_size: int) -> tuple[NDArray[np.bool_], FloatArray]:
    grouped = rewards.reshape(-1, group_size)
    known = np.isfinite(grouped)
    return known, np.where(known, grouped, 0.0)


def token_covariances(logp: FloatArray, advantage: FloatArray) -> FloatArray:
    """Return each token's term of the covariance, shape (tokens,); their mean is the covariance."""
    shares: FloatArray = (logp - logp.mean()) * (advantage - advantage.mean())
    return shares


def covariance(logp: FloatArray, advantage: FloatArray) -> float | None:
    """Return the covariance over a batch's tokens; None for a batch without tokens."""
    return float(token_covariances(logp, advantage).mean()) if len(logp) else None


def top_means(values: FloatArray, owner: IntArray, share: float) -> FloatArray:
    """Return the mean of each owner's `share` of largest values (at least one), shape (owners,).

    `owner`: the owner of each value, numbered from 0, in the shape of `values`. Every owner has at
    least one value.
    """
    order = np.lexsort((-values, owner))
    counts = np.bincount(owner)
    rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    top_counts = np.maximum(1, (share * counts).astype(np.int64))
    is_top = rank < top_counts[owner[order]]
    means: FloatArray = np.bincount(owner[order], np.where(is_top, values[order], 0.0)) / top_counts
    return means


def top(values: FloatArray, share: float) -> FloatArray:
    """Return 1 at the `share` of tokens with the largest values (at least one), 0 elsewhere."""
    count = max(1, int(share * len(values)))
    marks = np.zeros(len(values))
    marks[np.argsort(-values, kind="stable")[:count]] = 1.0
    return marks
