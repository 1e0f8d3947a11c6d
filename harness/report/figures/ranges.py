"""The least range of an axis: noise that fills a panel would look like an explosion.

An axis spans what is drawn on it and no less than its quantity's least range:

* H: a tenth of a nat, and over time half of the highest H drawn;
* R, a ceiling and a gain: a fifth of the range of R, which is 0 to 1 for an empathy reward; for
  other rewards the largest absolute value drawn is used as the range;
* R minus the law: a tenth of that range;
* a: a twentieth of that range, in reward per unit of exp(H);
* a fall of H, and listening: a fifth of a nat;
* shares of replies: a tenth; final emotion: 10 of 100.

The axis of an onset spans the whole run, that of a probability 0 to 1. An axis that is wider than
its data has them in the middle, but does not extend below 0 if its quantity cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.results import Floats

Limits = tuple[float, float]
AIR = 0.06
"""Space between the data and each end of the axis, as a share of the data's range."""
EMPATHY = 1.0
"""Range of an empathy reward."""
H_SHARE, H_NATS = 0.5, 0.1
REWARD_SHARE, RESIDUAL_SHARE, SLOPE_SHARE = 0.2, 0.1, 0.05
FALL_NATS, LISTENING_NATS = 0.2, 0.2
REPLIES, EMOTION = 0.1, 10.0


@dataclass(frozen=True)
class MinimumRange:
    """The least range of an axis, and the value below which it may not begin."""

    span: float = 0.0
    floor: float | None = None


def finite(values: Sequence[Floats]) -> Floats:
    """Return all finite values. Shape (n,), n may be 0."""
    joined = np.concatenate([*(np.asarray(v, dtype=float) for v in values), np.empty(0)])
    finite_values: Floats = joined[np.isfinite(joined)]
    return finite_values


def entropy(values: Sequence[Floats]) -> MinimumRange:
    """Return the least range of an axis of H, nats."""
    finite_values = finite(values)
    highest = float(finite_values.max()) if len(finite_values) else 0.0
    return MinimumRange(max(H_SHARE * highest, H_NATS), 0.0)


def reward(
    values: Sequence[Floats], reward_range: float | None, share: float = REWARD_SHARE
) -> MinimumRange:
    """Return the least range of an axis of R, or of a quantity with the same unit.

    `reward_range` is the range of R, if it is known; `values` are the rewards that are drawn.
    """
    finite_values = finite(values)
    largest = float(np.abs(finite_values).max()) if len(finite_values) else 0.0
    return MinimumRange(share * (largest if reward_range is None else reward_range))


def limits(
    values: Sequence[Floats], margin: float = AIR, least: MinimumRange | None = None
) -> Limits:
    """Return limits around all finite `values`, with a margin; (0, 1) if there are none."""
    finite_values = finite(values)
    if not len(finite_values):
        return 0.0, 1.0
    low, high = float(finite_values.min()), float(finite_values.max())
    air = margin * (high - low) or max(abs(high), 1.0) * margin
    left, right = low - air, high + air
    missing = (least.span if least else 0.0) - (right - left)
    if least is None or missing <= 0:
        return left, right
    left, right = left - missing / 2, right + missing / 2
    if least.floor is None or left >= least.floor - air:
        return left, right
    floor = min(least.floor - air, low - air)
    return floor, floor + least.span
