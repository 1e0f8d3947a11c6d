"""Shares of answers over users, with intervals that stay within 0 and 1 and have width at both.

A jackknife's interval (over_users.py) has none where something was never seen, and reaches below 0
where it was seen once. Here Clopper and Pearson's (1934) is taken with the number of independent
answers that the users' own spread is worth (Korn and Graubard 1998): p (1 - p) / se^2, by the
jackknife's se, less what the users' number leaves open of that. It holds the truth in at least 95%.
Answers may be fractions, as a reward is, and then are worth more than so many of 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm, t

from harness.probes.over_users import CONFIDENCE, NOT_MEASURED, Estimate, Parts, jackknife

ROUNDING = 1e-9
"""By so much sums of floating-point numbers may miss a bound."""


@dataclass(frozen=True)
class _Share:
    value: float
    low: float
    high: float
    without: NDArray[np.float64]
    """The share without each user, shape (users,)."""


def share(parts: Parts, whole: float = 1.0) -> Estimate:
    """sum of numerators / sum of denominators, which lies within 0 and `whole` for each user.

    Where all users have the same share, each counts as one answer. Not measured of fewer than
    FEWEST_USERS. Raises ValueError for a user whose share is not within 0 and `whole`.
    """
    own = _shares([parts], whole)
    if own is None:
        return NOT_MEASURED
    return _scaled(own[0].value, own[0].low, own[0].high, whole)


def share_change(before: Parts, after: Parts, whole: float = 1.0) -> Estimate:
    """The share of `after` minus that of `before`, of the same users in the same order.

    The interval is made of the two shares' own (Newcombe 1998, method 10), with the correlation of
    what leaving out a user does to both. Raises as `share` does.
    """
    both = _shares([after, before], whole)
    if both is None:
        return NOT_MEASURED
    now, then = both
    r = _correlation(now.without, then.without)
    difference = now.value - then.value
    down = _joined(now.value - now.low, then.high - then.value, r)
    up = _joined(now.high - now.value, then.value - then.low, r)
    low, high = max(-1.0, difference - down), min(1.0, difference + up)
    return _scaled(difference, low, high, whole)


def _scaled(value: float, low: float, high: float, whole: float) -> Estimate:
    return Estimate(whole * value, whole * low, whole * high)


def _shares(each: Sequence[Parts], whole: float) -> list[_Share] | None:
    """The shares of the same users, out of 1; None where they are too few."""
    of_one = [[(above / whole, below) for above, below in parts] for parts in each]
    found = jackknife(of_one)
    if found is None:
        return None
    return [_exact(ratios, parts) for ratios, parts in zip(found, of_one, strict=True)]


def _exact(ratios: NDArray[np.float64], parts: Parts) -> _Share:
    """`ratios`: the share of all users, then without each of those who say anything."""
    if any(not -ROUNDING <= above <= below + ROUNDING for above, below in parts):
        raise ValueError("the share of a user must be within 0 and the whole")
    value, without = min(1.0, max(0.0, float(ratios[0]))), ratios[1:]
    users = len(without)
    variance = (users - 1) / users * float(((without - without.mean()) ** 2).sum())
    spread = value * (1 - value)
    answers = spread / variance if variance > 0 and spread > 0 else float(users)
    side = (1 + CONFIDENCE) / 2
    answers *= float(norm.ppf(side) / t.ppf(side, users - 1)) ** 2
    hits, misses = value * answers, (1 - value) * answers
    low = float(beta.ppf(1 - side, hits, misses + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(side, hits + 1, misses)) if misses > 0 else 1.0
    return _Share(value, min(value, low), max(value, high), without)


def _joined(one: float, other: float, r: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * r * one * other + other**2))


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """0 where either does not vary."""
    a, b = one - one.mean(), other - other.mean()
    scale = math.sqrt(float((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / scale if scale > 0 else 0.0
