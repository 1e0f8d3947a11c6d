"""Glitches taken out of a log, and spikes pulled in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.law.estimate import glitches, numbers
from harness.law.io.clean import Cleaned, Points
from harness.law.results import Floats

MAD_TO_SD = 0.6745
"""Median absolute deviation of a normal variable / its standard deviation."""
SPIKE_SD = 4.0
SPIKE_WINDOW = 7


def without_spikes(values: Floats) -> Floats:
    """Without glitches, and each value within 4 robust standard deviations of the median of the 7
    around it.
    """
    return _pulled_in(glitches.removed(values))


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
    return Points(points.steps, glitches.removed(points.entropy), glitches.removed(points.reward))


def plain_log(cleaned: Cleaned) -> Cleaned:
    """The log with the glitches taken out of R, and of H, sought among all its rows."""
    points, entropy = cleaned.points, glitches.removed(cleaned.entropy)
    paired = entropy[np.searchsorted(cleaned.steps, points.steps)]
    without = Points(points.steps, paired, glitches.removed(points.reward))
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
