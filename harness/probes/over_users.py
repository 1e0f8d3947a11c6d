"""Ratios of sums over users, with confidence intervals over users (the sampling unit)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

CONFIDENCE = 0.95
FEWEST_USERS = 3


@dataclass(frozen=True)
class ProbeEstimate:
    """An estimate with its 95% confidence interval; None if not measured."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether the interval is known and contains `value`."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


Parts = Sequence[tuple[float, float]]
"""(numerator, denominator) of each user. A user with denominator 0 does not contribute."""
NOT_MEASURED = ProbeEstimate(None)


def ratio(parts: Parts) -> ProbeEstimate:
    """Return sum of numerators / sum of denominators, with the interval of `weighted_sum`."""
    return weighted_sum([(1.0, parts)])


def change(before: Parts, after: Parts) -> ProbeEstimate:
    """Return the ratio of `after` minus that of `before`, with the interval of `weighted_sum`."""
    return weighted_sum([(1.0, after), (-1.0, before)])


def weighted_sum(terms: Sequence[tuple[float, Parts]]) -> ProbeEstimate:
    """Return a weighted sum of ratios, over the same users in the same order.

    The interval uses the delete-one-user jackknife, which leaves a user out of all ratios at once,
    and Student's t (Shao and Tu, The Jackknife and Bootstrap, section 2.1) with the degrees of
    freedom of the ratio with the fewest users, which has most of the error. It has no width if all
    sampled users are equal; shares.py has intervals for shares that do.
    """
    all_parts = [parts for _, parts in terms]
    jackknifed = jackknife(all_parts)
    if jackknifed is None:
        return NOT_MEASURED
    factors = [factor for factor, _ in terms]
    fewest = min(sum(denominator > 0 for _, denominator in parts) for parts in all_parts)
    ratios = sum(f * ratios for f, ratios in zip(factors, jackknifed, strict=True))
    return _estimate(ratios, fewest - 1)


def jackknife(all_parts: Sequence[Parts]) -> list[NDArray[np.float64]] | None:
    """Return for each of `all_parts` the ratio over all users, then the ratios without each user.

    Users with denominator 0 in all of them are left out. None if any has fewer than FEWEST_USERS
    users with a positive denominator.
    """
    arrays = [np.array(parts, dtype=np.float64) for parts in all_parts]
    contributes = np.any([parts[:, 1] > 0 for parts in arrays], axis=0)
    contributing = [parts[contributes] for parts in arrays]
    if any((parts[:, 1] > 0).sum() < FEWEST_USERS for parts in contributing):
        return None
    return [_ratios(parts) for parts in contributing]


def _ratios(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ratio over all users, then the ratios without each user."""
    numerators, denominators = parts.T
    leave_one_out = (numerators.sum() - numerators) / (denominators.sum() - denominators)
    ratios: NDArray[np.float64] = np.concatenate(
        [[numerators.sum() / denominators.sum()], leave_one_out]
    )
    return ratios


def _estimate(ratios: Any, df: int) -> ProbeEstimate:
    value, leave_one_out = float(ratios[0]), ratios[1:]
    users = len(leave_one_out)
    error = math.sqrt(
        (users - 1) / users * float(((leave_one_out - leave_one_out.mean()) ** 2).sum())
    )
    half = error * float(t.ppf((1 + CONFIDENCE) / 2, df))
    return ProbeEstimate(value, value - half, value + half)
