"""Ratios of sums over users, with intervals that treat the users as what was sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    """sum of numerators / sum of denominators, with the interval of a delete-one-user jackknife and
    Student's t (Shao and Tu, The Jackknife and Bootstrap, section 2.1).
    """
    return _estimate(_ratios(parts))


def change(before: Parts, after: Parts) -> Estimate:
    """The ratio of `after` minus that of `before`; the same user is left out of both at once."""
    first, last = _ratios(before), _ratios(after)
    if first is None or last is None:
        return NOT_MEASURED
    return _estimate(last - first)


def _ratios(parts: Parts) -> NDArray[np.float64] | None:
    """The ratio of all users, then that without each of them; None of too few users."""
    above, below = (np.array(values, dtype=np.float64) for values in zip(*parts, strict=True))
    if (below > 0).sum() < FEWEST_USERS:
        return None
    ratios: NDArray[np.float64] = np.concatenate(
        [[above.sum() / below.sum()], (above.sum() - above) / (below.sum() - below)]
    )
    return ratios


def _estimate(ratios: NDArray[np.float64] | None) -> Estimate:
    if ratios is None:
        return NOT_MEASURED
    value, without = float(ratios[0]), ratios[1:]
    users = len(without)
    error = math.sqrt((users - 1) / users * float(((without - without.mean()) ** 2).sum()))
    half = error * float(t.ppf((1 + CONFIDENCE) / 2, users - 1))
    return Estimate(value, value - half, value + half)
