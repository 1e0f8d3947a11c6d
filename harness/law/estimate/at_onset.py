"""What else was so at the onset: the reward given up, and what of groups, words and strategies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.law.estimate import trend
from harness.law.io.aux_columns import Trace
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Floats, Interval, Onset

SHARE_AROUND = 0.05
"""Of a column's values: the nearest in time to the onset are averaged."""
FEWEST_AROUND = 3


@dataclass(frozen=True)
class Ceiling:
    """The ceiling of the law that held until the onset, and whether it is identified."""

    interval: Interval
    identified: bool


def at_onset(
    found: Onset | None, points: Points, ceiling: Ceiling | None, beside: Mapping[str, Trace]
) -> dict[str, Any] | None:
    """reward_left, and of each column in `beside` its mean around the onset; None without one.

    A column the log does not hold is None.
    """
    if found is None:
        return None
    around = {name: _level(column, found.step) for name, column in beside.items()}
    return {"reward_left": _reward_left(found, points, ceiling), **around}


def _reward_left(
    found: Onset, points: Points, ceiling: Ceiling | None
) -> dict[str, float | None] | None:
    """Ceiling minus the reward around the onset; its 95% interval where the ceiling is identified.

    The two errors are added as if independent.
    """
    near = _nearest(points.steps, found.step)
    if ceiling is None or len(points) < FEWEST_POINTS:
        return None
    value = ceiling.interval.value - float(points.reward[near].mean())
    if not ceiling.identified:
        return {"value": value, "low": None, "high": None}
    level = trend.wobble(points.reward).half_width(len(near))
    half = float(np.hypot(level, (ceiling.interval.high - ceiling.interval.low) / 2))
    return {"value": value, "low": value - half, "high": value + half}


def _level(column: Trace, step: float) -> float | None:
    near = _nearest(column.steps, step)
    return float(column.values[near].mean()) if len(near) else None


def _nearest(steps: Floats, step: float) -> np.ndarray:
    """Indices of the values nearest to `step`, a twentieth of all but at least 3 if there are."""
    count = max(FEWEST_AROUND, round(SHARE_AROUND * len(steps)))
    return np.sort(np.argsort(np.abs(steps - step), kind="stable")[:count])
