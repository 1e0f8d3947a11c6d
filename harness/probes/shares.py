"""Shares of answers over users, with intervals that stay in [0, 1] and have width at 0 and 1.

A jackknife interval (over_users.py) has no width if an event was never seen, and reaches below 0 if
it was seen once. Here it is the Clopper-Pearson interval (1934) with an effective number of
answers (Korn and Graubard 1998): p (1 - p) / se^2 with the jackknife's standard error, reduced for
the few degrees of freedom. Its coverage is at least 95%. Answers may be fractions, such as a
reward, and then count for more than as many answers of 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm, t

from harness.probes.over_users import CONFIDENCE, NOT_MEASURED, Parts, ProbeEstimate, jackknife

ROUNDING = 1e-9
"""Tolerance for sums of floating-point numbers at a bound."""


@dataclass(frozen=True)
class _Share:
    value: float
    low: float
    high: float
    without: NDArray[np.float64]
    """The share without each user of both shares, shape (users,)."""


def share(parts: Parts, whole: float = 1.0) -> ProbeEstimate:
    """Return sum of numerators / sum of denominators, where each user's ratio is in [0, `whole`].

    If all users have the same share, each counts as one answer. Not measured for fewer than
    FEWEST_USERS. Raises ValueError for a user whose ratio is outside [0, `whole`].
    """
    single = _shares([parts], whole)
    if single is None:
        return NOT_MEASURED
    return _scale(single[0].value, single[0].low, single[0].high, whole)


def share_change(before: Parts, after: Parts, whole: float = 1.0) -> ProbeEstimate:
    """Return the share of `after` minus the share of `before`, over the same users in order.

    The interval combines the two shares' intervals (Newcombe 1998, method 10), with the correlation
    of their jackknife values. Raises as `share` does.
    """
    pair = _shares([after, before], whole)
    if pair is None:
        return NOT_MEASURED
    after_share, before_share = pair
    correlation = _correlation(after_share.without, before_share.without)
    difference = after_share.value - before_share.value
    down = _join(
        after_share.value - after_share.low, before_share.high - before_share.value, correlation
    )
    up = _join(
        after_share.high - after_share.value, before_share.value - before_share.low, correlation
    )
    low, high = max(-1.0, difference - down), min(1.0, difference + up)
    return _scale(difference, low, high, whole)


def _scale(value: float, low: float, high: float, whole: float) -> ProbeEstimate:
    return ProbeEstimate(whole * value, whole * low, whole * high)


def _shares(all_parts: Sequence[Parts], whole: float) -> list[_Share] | None:
    """Return the shares, scaled to [0, 1], over the same users; None for too few users."""
    scaled = [
        [(numerator / whole, denominator) for numerator, denominator in parts]
        for parts in all_parts
    ]
    jackknifed = jackknife(scaled)
    if jackknifed is None:
        return None
    shares = []
    for parts, ratios in zip(scaled, jackknifed, strict=True):
        own = jackknife([parts])  # users without an answer here make this share no surer
        assert own is not None
        shares.append(_exact(own[0], parts, ratios[1:]))
    return shares


def _exact(ratios: NDArray[np.float64], parts: Parts, without: NDArray[np.float64]) -> _Share:
    """Return the share and its interval; `ratios` are the share of all users, then without each.

    `without`: the share without each user of both shares.
    """
    if any(
        not -ROUNDING <= numerator <= denominator + ROUNDING for numerator, denominator in parts
    ):
        raise ValueError("the share of a user must be within 0 and the whole")
    value, leave_one_out = min(1.0, max(0.0, float(ratios[0]))), ratios[1:]
    users = len(leave_one_out)
    variance = (users - 1) / users * float(((leave_one_out - leave_one_out.mean()) ** 2).sum())
    spread = value * (1 - value)
    answers = spread / variance if variance > 0 and spread > 0 else float(users)
    side = (1 + CONFIDENCE) / 2
    answers *= float(norm.ppf(side) / t.ppf(side, users - 1)) ** 2
    hits, misses = value * answers, (1 - value) * answers
    low = float(beta.ppf(1 - side, hits, misses + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(side, hits + 1, misses)) if misses > 0 else 1.0
    return _Share(value, min(value, low), max(value, high), without)


def _join(one: float, other: float, r: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * r * one * other + other**2))


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return Pearson's correlation; 0 if either is constant."""
    a, b = one - one.mean(), other - other.mean()
    scale = math.sqrt(float((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / scale if scale > 0 else 0.0
