"""a over the range of H that all compared runs pass through.

Over different ranges a differs where the law is only nearly right, and where H is noisy it shrinks
more the less H moves: a difference of a then says nothing of difficulty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.law.estimate import binning, identifiability
from harness.law.estimate.identifiability import Fitted
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Floats, Interval

Range = tuple[float, float]
"""Lowest and highest H, nats."""
SMALLEST_WINDOW = 3


def shared(runs: Sequence[Points]) -> Range | None:
    """None where some runs end above where others begin."""
    courses = [smooth(points.entropy) for points in runs]
    low = max(float(h.min()) for h in courses)
    high = min(float(h.max()) for h in courses)
    return (low, high) if low < high else None


def slope(points: Points, within: Range) -> Interval | None:
    """a refit on the steps where the course of H lies within the range.

    None with too few points there, or where exp(H) moves no more than its noise. A wide interval
    is no reason to leave a run out: that would keep the large a.
    """
    h = smooth(points.entropy)
    inside = points.where((h >= within[0]) & (h <= within[1]))
    if len(inside) < FEWEST_POINTS:
        return None
    fitted = identifiability.fit(inside)
    return fitted.spread.a if fitted.spread is not None and _usable(fitted) else None


def smooth(entropy: Floats) -> Floats:
    """H averaged over a window of steps, so that its noise does not pick the points."""
    n = len(entropy)
    window = min(max(SMALLEST_WINDOW, n // max(binning.fit_bins(n), 1)), n)
    ones = np.ones(window)
    return np.convolve(entropy, ones, "same") / np.convolve(np.ones(n), ones, "same")


def _usable(fitted: Fitted) -> bool:
    return identifiability.enough(fitted) and identifiability.moves(fitted)
