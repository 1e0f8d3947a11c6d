"""Remove outliers of H and R: replace glitches by local medians, and clip spikes.

A glitch is one row or a short burst that lies outside the range between the median of the rows
before and that of the rows after, by many times the scatter of the surrounding rows. On a slope,
however steep, a value lies between the two medians. At a sharp turn the scatter is as large as the
turn. So neither a slope nor a turn counts as a glitch.
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
"""Number of rows before and after a value. Up to half of them may be glitches."""
AROUND = 2 * SIDE + 1
FAR_SD = 6.0
"""Distance of a glitch, in robust standard deviations of the surrounding rows."""
ENDS = 3
"""Rows at either end that are checked separately, because they have too few neighbours beyond."""
LARGEST_STEP = 5.0
"""A difference between neighbouring rows at an end is a glitch above this many times the range of
the adjacent rows. The steep first steps of a decaying run stay below it."""


def without_spikes(values: Floats) -> Floats:
    """Remove glitches, and clip each value to 4 robust standard deviations around the running
    median of 7.
    """
    return _clip_outliers(without_glitches(values))


def _clip_outliers(values: Floats) -> Floats:
    """Clip spikes with Hampel's filter.

    Its running median follows the steep start of a run, which the median of a whole bin would clip
    as noise. The ends are padded by point reflection, so that an end value on a slope is kept.
    """
    if len(values) < SPIKE_WINDOW:
        return values
    centre = numbers.running_median(mirror_ends(values, SPIKE_WINDOW // 2), SPIKE_WINDOW)
    spread = SPIKE_SD * numbers.median(np.abs(values - centre)) / MAD_TO_SD
    return np.clip(values, centre - spread, centre + spread) if spread > 0 else values


def remove_glitches(points: Points) -> Points:
    """Return the points without the glitches of H and R."""
    return Points(points.steps, without_glitches(points.entropy), without_glitches(points.reward))


def remove_log_glitches(cleaned: Cleaned) -> Cleaned:
    """Return the log without the glitches of R and H. Those of H are detected on all its rows."""
    points, entropy = cleaned.points, without_glitches(cleaned.entropy)
    paired = entropy[np.searchsorted(cleaned.steps, points.steps)]
    plain_points = Points(points.steps, paired, without_glitches(points.reward))
    return replace(cleaned, points=plain_points, entropy=entropy)


def clip_spikes(plain: Points) -> Points:
    """Clip the spikes of H and R of points without glitches."""
    return Points(plain.steps, _clip_outliers(plain.entropy), _clip_outliers(plain.reward))


def clip_residuals(residuals: Floats) -> Floats:
    """Clip residuals to 4 robust standard deviations around zero."""
    limit = SPIKE_SD * numbers.median(np.abs(residuals)) / MAD_TO_SD
    return np.clip(residuals, -limit, limit) if limit > 0 else residuals


def mirror_ends(values: Floats, width: int) -> Floats:
    """Pad by `width` values at each end, by reflection through the end point."""
    before = 2 * values[0] - values[width:0:-1]
    after = 2 * values[-1] - values[-2 : -width - 2 : -1]
    return np.concatenate((before, values, after))


def without_glitches(values: Floats) -> Floats:
    """Replace glitches by the nearer of the medians before and after. Shape (n,).

    Return the same array if there are none, or too few rows to detect them.
    """
    if len(values) < AROUND:
        return values
    plain = _with_plain_start(_with_plain_start(values)[::-1])[::-1]
    medians = np.partition(sliding_window_view(mirror_ends(plain, SIDE), SIDE), SIDE // 2, axis=1)
    before, after = medians[: len(values), SIDE // 2], medians[SIDE + 1 :, SIDE // 2]
    low, high = np.minimum(before, after), np.maximum(before, after)
    distance = np.maximum(low - plain, plain - high)
    suspects = np.flatnonzero(distance > FAR_SD * numbers.median(np.abs(distance)))
    scatter = _scatter(plain, suspects)
    glitches = suspects[(distance[suspects] > FAR_SD * scatter) & (scatter > 0)]
    if not len(glitches):
        return values if (plain == values).all() else plain
    result = plain.copy()
    result[glitches] = np.clip(plain[glitches], low[glitches], high[glitches])
    return result


def glitch_count(values: Floats, plain: Floats) -> int:
    """Return the number of glitches; `plain` is `without_glitches(values)`."""
    return int(np.count_nonzero(plain != values))


def _scatter(values: Floats, indices: NDArray[np.intp]) -> Floats:
    """Return the robust standard deviation of the rows around each index. Shape (indices,)."""
    first = np.clip(indices - SIDE, 0, len(values) - AROUND)
    windows = np.sort(sliding_window_view(values, AROUND)[first], axis=1)
    deviations = np.abs(windows - windows[:, SIDE, None])
    result: Floats = np.sort(deviations, axis=1)[:, SIDE] / MAD_TO_SD
    return result


def _with_plain_start(values: Floats) -> Floats:
    """Remove glitches from the first rows, which have too few rows before them."""
    result = values
    for index in range(ENDS - 1, -1, -1):
        usual_range = np.ptp(result[index + 1 : index + 1 + SIDE])
        if abs(result[index] - result[index + 1]) > LARGEST_STEP * usual_range > 0:
            result = result.copy() if result is values else result
            result[index] = result[index + 1]
    return result
