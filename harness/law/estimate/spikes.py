"""Values that no course of H or R explains: glitches are taken out of a log, spikes pulled in.

A glitch is a lone row or a burst of a few, far from all around them: beyond the medians of the rows
before it and of those after it, by many times what the rows around it scatter. On a slope, however
steep, a value lies between the two medians, and at a sharp turn the rows around scatter as much as
the turn is high. So neither is taken for one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from harness.law.estimate import numbers
from harness.law.io.clean import Cleaned, Points
from harness.law.results import Floats

MAD_TO_SD = 0.6745
"""Median absolute deviation of a normal variable / its standard deviation."""
SPIKE_SD = 4.0
SPIKE_WINDOW = 7
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


def without_spikes(values: Floats) -> Floats:
    """Without glitches, and each value within 4 robust standard deviations of the median of the 7
    around it.
    """
    return _pulled_in(without_glitches(values))


def _pulled_in(values: Floats) -> Floats:
    """The running median (Hampel's filter) follows the steep start of a run, which a median of a
    whole bin would cut away as if it were noise. Beyond the ends the course is mirrored through
    the end point, so that a first value at the end of a slope is kept.
    """
    if len(values) < SPIKE_WINDOW:
        return values
    centre = numbers.running_median(mirrored(values, SPIKE_WINDOW // 2), SPIKE_WINDOW)
    spread = SPIKE_SD * numbers.median(np.abs(values - centre)) / MAD_TO_SD
    return np.clip(values, centre - spread, centre + spread) if spread > 0 else values


def plain(points: Points) -> Points:
    """The points with the glitches of H and of R taken out."""
    return Points(points.steps, without_glitches(points.entropy), without_glitches(points.reward))


def plain_log(cleaned: Cleaned) -> Cleaned:
    """The log with the glitches taken out of R, and of H, sought among all its rows."""
    points, entropy = cleaned.points, without_glitches(cleaned.entropy)
    paired = entropy[np.searchsorted(cleaned.steps, points.steps)]
    without = Points(points.steps, paired, without_glitches(points.reward))
    return replace(cleaned, points=without, entropy=entropy)


def calm(plain: Points) -> Points:
    """Points without glitches, with the spikes of H and of R pulled in as well."""
    return Points(plain.steps, _pulled_in(plain.entropy), _pulled_in(plain.reward))


def clipped(residuals: Floats) -> Floats:
    """Pulled to within 4 robust standard deviations of zero."""
    limit = SPIKE_SD * numbers.median(np.abs(residuals)) / MAD_TO_SD
    return np.clip(residuals, -limit, limit) if limit > 0 else residuals


def mirrored(values: Floats, width: int) -> Floats:
    """With `width` more at each end, mirrored through the end point."""
    before = 2 * values[0] - values[width:0:-1]
    after = 2 * values[-1] - values[-2 : -width - 2 : -1]
    return np.concatenate((before, values, after))


def without_glitches(values: Floats) -> Floats:
    """Glitches put to the nearer of the medians before and after. Shape (n,).

    The same array where there are none, or too few rows to tell.
    """
    if len(values) < AROUND:
        return values
    plain = _with_plain_start(_with_plain_start(values)[::-1])[::-1]
    medians = np.partition(sliding_window_view(mirrored(plain, SIDE), SIDE), SIDE // 2, axis=1)
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


def glitch_count(values: Floats, plain: Floats) -> int:
    """How many of the values are glitches; `plain` is `without_glitches(values)`."""
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
