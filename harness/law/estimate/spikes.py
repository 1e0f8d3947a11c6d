"""Contiguous bins of equal counts, the steps made even for them, and the removal of spikes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.law.estimate import glitches, numbers
from harness.law.io.clean import Points
from harness.law.results import Floats

Labels = NDArray[np.intp]
MAD_TO_SD = 0.6745
"""Median absolute deviation of a normal variable / its standard deviation."""
UNEVEN = 1e-6
"""Share by which gaps between steps may differ and still be equal: rounding of other units."""
SPIKE_SD = 4.0
SPIKE_WINDOW = 7


@lru_cache(maxsize=64)
def fit_bins(n: int) -> int:
    """Bins of the estimator: clip(round(sqrt(n)), 8, 40), with at least two points in each."""
    return max(1, min(int(max(8, min(round(n**0.5), 40))), n // 2))


def onset_bins(n: int) -> int:
    """The number of bins the onset is sought on: clip(n / 5, 16, 100)."""
    return min(int(max(16, min(n / 5, 100))), n)


@lru_cache(maxsize=64)
def labels(n: int, bins: int) -> Labels:
    """The bin of each point, 0 .. bins - 1, counts differing by at most one. Shape (n,)."""
    label = np.arange(n) * bins // n
    label.flags.writeable = False
    return label


@lru_cache(maxsize=64)
def centres(n: int, bins: int) -> Floats:
    """Mean place of each bin's points, 0 .. n - 1. Shape (bins,)."""
    centre = means(np.arange(n, dtype=float), labels(n, bins))
    centre.flags.writeable = False
    return centre


@lru_cache(maxsize=64)
def _counts(n: int, bins: int) -> Labels:
    """Points of each bin. Shape (bins,)."""
    return np.bincount(labels(n, bins))


def evenly(steps: Floats, *series: Floats) -> tuple[Floats, ...]:
    """Steps and series as they are where the steps are even, else on as many that are.

    Bins of equal counts are then bins of equal time: without it a stretch logged densely is drawn
    out, and an even course bends where the logging changes. In between, a series is a line.
    """
    gaps = np.diff(steps)
    if gaps.max() - gaps.min() <= UNEVEN * gaps.max():
        return steps, *series
    even = np.linspace(steps[0], steps[-1], len(steps))
    return even, *(np.interp(even, steps, values) for values in series)


def means(values: Floats, label: Labels) -> Floats:
    """Mean of each bin of `label`, which is one of labels(). Shape (bins,)."""
    return np.bincount(label, values) / _counts(len(label), int(label[-1]) + 1)


def spread_out(of_bins: Floats, n: int) -> Floats:
    """The value of its bin for each of n points. Shape (n,)."""
    return of_bins.repeat(_counts(n, len(of_bins)))


def between_neighbours(bin_means: Floats, n: int) -> Floats:
    """On the line through the means of the bins before and after; beyond the ends, extrapolated."""
    apart, away = _neighbours(n, len(bin_means))
    middle = _extended(bin_means)
    slope = (middle[2:] - middle[:-2]) / apart
    return spread_out(middle[:-2], n) + spread_out(slope, n) * away


@lru_cache(maxsize=64)
def _neighbours(n: int, bins: int) -> tuple[Floats, Floats]:
    """Distances between the centres of the bins before and after each, shape (bins,), and each
    point from the centre of the bin before its own, shape (n,).
    """
    at = _extended(centres(n, bins))
    return at[2:] - at[:-2], np.arange(n, dtype=float) - spread_out(at[:-2], n)


def _extended(values: Floats) -> Floats:
    extended = np.empty(len(values) + 2)
    extended[1:-1] = values
    extended[0] = 2 * values[0] - values[1]
    extended[-1] = 2 * values[-1] - values[-2]
    return extended


def medians(values: Floats, label: Labels) -> Floats:
    """Median of each bin of `label`, which is one of labels(). Shape (bins,)."""
    counts = _counts(len(label), int(label[-1]) + 1)
    bins, widest = np.arange(len(counts)), int(counts.max())
    padded = np.full(len(counts) * widest, np.inf)
    padded[_row_places(len(label), len(counts))] = values
    rows = padded.reshape(-1, widest)
    rows.sort(axis=1)
    result: Floats = (rows[bins, (counts - 1) // 2] + rows[bins, counts // 2]) / 2
    return result


@lru_cache(maxsize=64)
def _row_places(n: int, bins: int) -> Labels:
    """The place of each point if every bin is a row as long as the longest. Shape (n,)."""
    label, counts = labels(n, bins), _counts(n, bins)
    first = np.cumsum(counts) - counts
    place: Labels = label * counts.max() + np.arange(n) - first[label]
    return place


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
