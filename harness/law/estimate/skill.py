"""Does the law, fitted on the first part of a run, predict the rest better than the last value?"""

from __future__ import annotations

import numpy as np

from harness.law.estimate import binning, estimate, numbers
from harness.law.io.clean import FEWEST_POINTS
from harness.law.results import Floats

FEWEST_FITTED = 8
FEWEST_BINS = 4
LAST = 0.1
"""Share of the first part whose mean reward is the last value."""


def out_of_time(x: Floats, reward: Floats) -> float | None:
    """1 - squared error of the law / of the last value, told x = exp(H); the better of two splits.

    One split is the middle, the other the point by which x did half of its moving: where H fell
    early, the second half of the run holds nothing to predict. Both arrays without spikes, shape
    (n,). None below 16 points or where x or R does not vary.
    """
    if len(x) < FEWEST_POINTS:
        return None
    half = len(x) // 2
    early = max(FEWEST_FITTED, min(_half_moved(x), half))
    found = [_skill(x, reward, split) for split in sorted({early, half})]
    return max((skill for skill in found if skill is not None), default=None)


def _half_moved(x: Floats) -> int:
    """How many points come before half of the movement of x, in time bins, is done."""
    label = binning.labels(len(x), binning.fit_bins(len(x)))
    moved = np.cumsum(np.abs(np.diff(binning.means(x, label))))
    return int(np.argmax(label > np.argmax(moved >= moved[-1] / 2)))


def _skill(x: Floats, reward: Floats, split: int) -> float | None:
    """On time-binned means: the noise of one H is no error of the law."""
    line = estimate.through(x[:split], reward[:split])
    if line is None:
        return None
    rest = len(x) - split
    label = binning.labels(rest, max(FEWEST_BINS, binning.fit_bins(len(x)) * rest // len(x)))
    truth = binning.means(reward[split:], label)
    predicted = line.b - line.a * binning.means(x[split:], label)
    last = numbers.mean(reward[split - max(1, round(LAST * split)) : split])
    against = float(((truth - last) ** 2).sum())
    return 1 - float(((truth - predicted) ** 2).sum()) / against if against > 0 else None
