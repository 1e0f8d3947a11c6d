"""How far a series moves along a straight line, with an error that allows for autocorrelation."""

from __future__ import annotations

from dataclasses import dataclass

from harness.law import estimate
from harness.law.results import Floats

FEWEST_POINTS = 4


@dataclass(frozen=True)
class Move:
    """From the first step to the last, by the fitted line, and its standard error."""

    value: float
    se: float


def move(steps: Floats, values: Floats) -> Move | None:
    """None below 4 points."""
    n = len(steps)
    if n < FEWEST_POINTS:
        return None
    time = (steps - steps.mean()) / float(steps[-1] - steps[0])
    power = float(time @ time)
    slope = float(time @ values) / power
    left = values - values.mean() - slope * time
    rho = estimate.lag1(left)
    variance = float(left @ left) / (n - 2) / power * (1 + rho) / (1 - rho)
    return Move(slope, variance**0.5)
