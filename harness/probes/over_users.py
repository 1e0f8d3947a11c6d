"""Ratios of sums over users, with intervals that treat the users as what was sampled."""

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
class Estimate:
    """A number and its 95% interval; None where it was not measured."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the interval is known and holds `value`."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


Parts = Sequence[tuple[float, float]]
"""Of each user: numerator and denominator. A user with a denominator of 0 says nothing."""
NOT_MEASURED = Estimate(None)


def ratio(parts: Parts) -> Estimate:
    """sum of numerators / sum of denominators; see `combined`."""
    return combined([(1.0, parts)])


def change(before: Parts, after: Parts) -> Estimate:
    """The ratio of `after` minus that of `before`; see `combined`."""
    return combined([(1.0, after), (-1.0, before)])


def combined(terms: Sequence[tuple[float, Parts]]) -> Estimate:
    """A sum of factors times ratios, of the same users in the same order.

    The interval is that of a delete-one-user jackknife, which leaves a user out of all ratios at
    once, and Student's t (Shao and Tu, The Jackknife and Bootstrap, section 2.1). Where all users
    are alike it has no width, though others may differ; shares have shares.py for that.
    """
    found = jackknife([parts for _, parts in terms])
    if found is None:
        return NOT_MEASURED
    factors = [factor for factor, _ in terms]
    return _estimate(sum(f * ratios for f, ratios in zip(factors, found, strict=True)))


def jackknife(each: Sequence[Parts]) -> list[NDArray[np.float64]] | None:
    """The ratio of all users, then without each of them, of several parts of the same users.

    Users of whom none of the parts says anything are left out. None where any of the parts is of
    fewer than FEWEST_USERS.
    """
    asked = [np.array(parts, dtype=np.float64) for parts in each]
    telling = np.any([parts[:, 1] > 0 for parts in asked], axis=0)
    told = [parts[telling] for parts in asked]
    if any((parts[:, 1] > 0).sum() < FEWEST_USERS for parts in told):
        return None
    return [_ratios(parts) for parts in told]


def _ratios(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ratio of all users, then that without each of them."""
    above, below = parts.T
    without = (above.sum() - above) / (below.sum() - below)
    ratios: NDArray[np.float64] = np.concatenate([[above.sum() / below.sum()], without])
    return ratios


def _estimate(ratios: Any) -> Estimate:
    value, without = float(ratios[0]), ratios[1:]
    users = len(without)
    error = math.sqrt((users - 1) / users * float(((without - without.mean()) ** 2).sum()))
    half = error * float(t.ppf((1 + CONFIDENCE) / 2, users - 1))
    return Estimate(value, value - half, value + half)
