"""From rewards to advantages: a conversation against the rest of its group (arXiv 2402.03300)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TINY = 1e-6
"""Keeps plain division (a floor of 0) finite; far below the 0.05 lattice of rewards."""


def group_means(rewards: FloatArray, group_size: int) -> FloatArray:
    """Mean of the known rewards of each group, shape (groups,); nan where none is known."""
    known, values = _known(rewards, group_size)
    count = known.sum(axis=1)
    return np.where(count > 0, values.sum(axis=1) / np.maximum(count, 1), np.nan)


def group_stds(rewards: FloatArray, group_size: int) -> FloatArray:
    """Population standard deviation of each group's known rewards, shape (groups,).

    Exactly 0 where they are all equal, nan where none is known.
    """
    known, values = _known(rewards, group_size)
    means = group_means(rewards, group_size)
    apart = np.where(known, values - np.nan_to_num(means)[:, None], 0.0)
    std = np.sqrt((apart**2).sum(axis=1) / np.maximum(known.sum(axis=1), 1))
    lowest = np.where(known, values, np.inf).min(axis=1)
    highest = np.where(known, values, -np.inf).max(axis=1)
    # A mean of equal numbers may differ from them in the last bit; equal rewards carry no signal.
    std = np.where(lowest < highest, std, 0.0)
    std[np.isnan(means)] = np.nan
    return np.asarray(std)


def group_relative(
    rewards: FloatArray, group_size: int, std_floor: float | None, std_over: str = "group"
) -> FloatArray:
    """Advantages, shape (n,), of rewards of shape (n,) in which groups are consecutive.

    A missing reward (nan) is left out of its group's baseline and gets advantage 0.
    `std_floor`: divide by max(std, floor); 0 = by std alone; None = no division, as in
    arXiv 2503.20783, section 3.2. `std_over`: the std of the group's rewards, or of all of the
    batch's, as in arXiv 2508.08221.
    """
    known, values = _known(rewards, group_size)
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
    """Each reward minus the mean of the others of its group, shape (n,); groups are consecutive.

    A missing reward (nan) is nobody's baseline and gets 0, as does one that is alone in its group.
    """
    known = _known(rewards, group_size)[0]
    count = known.sum(axis=1, keepdims=True)
    # n / (n - 1) (r - mean of all) is r - mean of the others
    scale = np.where(count > 1, count / np.maximum(count - 1, 1), 0.0)
    centred = group_relative(rewards, group_size, std_floor=None).reshape(-1, group_size)
    return (scale * centred).ravel()


def permuted_within_groups(
    advantages: FloatArray, known: NDArray[np.bool_], group_size: int, rng: np.random.Generator
) -> FloatArray:
    """The null control: each group's rows of `advantages`, shape (n, turns), dealt out at random.

    A row stays whole, so that the turns of one conversation keep what they have in common. Those
    without a reward, where `known`, shape (n,), is False, take no part.
    """
    groups = len(advantages) // group_size
    order = rng.permuted(np.tile(np.arange(group_size), (groups, 1)), axis=1)
    source = (order + group_size * np.arange(groups)[:, None]).ravel()
    # group by group there are as many known rows to deal as known places to deal them to
    source[known], source[~known] = source[known[source]], np.flatnonzero(~known)
    dealt: FloatArray = advantages[source]
    return dealt


def partners(count: int, group_size: int) -> IntArray:
    """For each of `count` conversations one with another user, shape (count,): that at its place in
    the next group. In a batch of one group it is the next conversation, with the same user.
    """
    apart = group_size if count > group_size else 1
    return (np.arange(count) + apart) % count


def _known(rewards: FloatArray, group_size: int) -> tuple[NDArray[np.bool_], FloatArray]:
    grouped = rewards.reshape(-1, group_size)
    known = np.isfinite(grouped)
    return known, np.where(known, grouped, 0.0)


def token_covariances(logp: FloatArray, advantage: FloatArray) -> FloatArray:
    """Each token's share of the covariance, shape (tokens,), whose mean is the covariance."""
    shares: FloatArray = (logp - logp.mean()) * (advantage - advantage.mean())
    return shares


def covariance(logp: FloatArray, advantage: FloatArray) -> float | None:
    """Over a batch's tokens; None where there is none."""
    return float(token_covariances(logp, advantage).mean()) if len(logp) else None


def top_means(values: FloatArray, owner: IntArray, share: float) -> FloatArray:
    """The mean of each owner's `share` largest values, one at least, shape (owners,).

    `owner`: whose each value is, from 0, shape of `values`; each has one or more.
    """
    order = np.lexsort((-values, owner))
    counts = np.bincount(owner)
    rank = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    most = np.maximum(1, (share * counts).astype(np.int64))
    kept = rank < most[owner[order]]
    means: FloatArray = np.bincount(owner[order], np.where(kept, values[order], 0.0)) / most
    return means


def top(values: FloatArray, share: float) -> FloatArray:
    """1 at the `share` of tokens with the largest values, at least one of them; 0 elsewhere."""
    count = max(1, int(share * len(values)))
    marks = np.zeros(len(values))
    marks[np.argsort(-values, kind="stable")[:count]] = 1.0
    return marks
