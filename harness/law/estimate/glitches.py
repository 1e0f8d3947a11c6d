"""Values that no course of H or R explains: lone rows or bursts of a few, far from all around them.

A value is a glitch where it lies beyond the medians of the rows before it and of those after it, by
many times what the rows around it scatter. On a slope, however steep, a value lies between the two
medians, and at a sharp turn the rows around scatter as much as the turn is high. So neither is
taken for one.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from harness.law.estimate import numbers
from harness.law.results import Floats

SIDE = 15
"""Rows before and after a value. Half of them may be glitches: several bursts in a row."""
AROUND = 2 * SIDE + 1
FAR_SD = 6.0
"""Robust standard deviations of the rows around, from which on a value is a glitch."""
ENDS = 3
"""Rows at either end without enough rows beyond them: at most a burst."""
LARGEST_STEP = 5.0
"""Steps at the ends beyond so many times the range of the rows next to them are glitches. The first
steps of a run that decays are steep, but by less than that."""
MAD_TO_SD = 0.6745
"""Median absolute deviation of a normal variable / its standard deviation."""


def removed(values: Floats) -> Floats:
    """Glitches put to the nearer of the medians before and after. Shape (n,).

    The same array where there are none, or too few rows to tell.
    """
    if len(values) < AROUND:
        return values
    plain = _with_plain_start(_with_plain_start(values)[::-1])[::-1]
    medians = np.partition(sliding_window_view(_mirrored(plain), SIDE), SIDE // 2, axis=1)
    before, after = medians[: len(values), SIDE // 2], medians[SIDE + 1 :, SIDE // 2]
    low, high = np.minimum(before, after), np.maximum(before, after)
    away = np.maximum(low - plain, plain - high)
    suspects = np.flatnonzero(away > FAR_SD * numbers.median(np.abs(away)))
    scatter = _scatter(plain, suspects)
    far = suspects[(away[suspects] > FAR_SD * scatter) & (scatter > 0)]
    if not len(far):
        return values if (plain == values).all() else plain
    result = plain.copy()
    result[far] = np.clip(plain[far], low[far], high[far])
    return result


def count(values: Floats, plain: Floats) -> int:
    """How many of the values are glitches; `plain` is `removed(values)`."""
    return int(np.count_nonzero(plain != values))


def _scatter(values: Floats, places: NDArray[np.intp]) -> Floats:
    """Robust standard deviation of the rows around each place. Shape (places,)."""
    first = np.clip(places - SIDE, 0, len(values) - AROUND)
    around = np.sort(sliding_window_view(values, AROUND)[first], axis=1)
    deviations = np.abs(around - around[:, SIDE, None])
    result: Floats = np.sort(deviations, axis=1)[:, SIDE] / MAD_TO_SD
    return result


def _with_plain_start(values: Floats) -> Floats:
    """Without glitches among the first rows, which have too few before them."""
    result = values
    for place in range(ENDS - 1, -1, -1):
        usual = np.ptp(result[place + 1 : place + 1 + SIDE])
        if abs(result[place] - result[place + 1]) > LARGEST_STEP * usual > 0:
            result = result.copy() if result is values else result
            result[place] = result[place + 1]
    return result


def _mirrored(values: Floats) -> Floats:
    """With SIDE more at each end, mirrored through the end point."""
    before = 2 * values[0] - values[SIDE:0:-1]
    after = 2 * values[-1] - values[-2 : -SIDE - 2 : -1]
    return np.concatenate((before, values, after))
