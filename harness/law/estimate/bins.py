"""Divide a run into contiguous bins of equal counts, after resampling it to even steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.law.results import Floats

Indices = NDArray[np.intp]
UNEVEN = 1e-6
"""Relative difference of gaps between steps up to which they count as equal. Steps converted from
other units are rounded."""


@dataclass(frozen=True)
class Bins:
    """Bins of n consecutive points, with counts that differ by at most one."""

    n: int
    starts: Indices
    """Index of the first point of each bin. Shape (bins,)."""
    counts: Indices
    """The number of points in each bin, at least one. Shape (bins,)."""

    def __len__(self) -> int:
        return len(self.starts)

    def means(self, values: Floats) -> Floats:
        """Return the mean of each bin. `values`: shape (n,); result: shape (bins,)."""
        result: Floats = np.add.reduceat(values, self.starts) / self.counts
        return result

    def medians(self, values: Floats) -> Floats:
        """Return the median of each bin. `values`: shape (n,); result: shape (bins,)."""
        widest = int(self.counts.max())
        padded = np.full(len(self) * widest, np.inf)
        padded[self._row_indices] = values
        rows = padded.reshape(-1, widest)
        rows.sort(axis=1)
        bins, counts = np.arange(len(self)), self.counts
        result: Floats = (rows[bins, (counts - 1) // 2] + rows[bins, counts // 2]) / 2
        return result

    def spread_out(self, bin_values: Floats) -> Floats:
        """Repeat each bin's value, shape (bins,), for its points; result: shape (n,)."""
        return bin_values.repeat(self.counts)

    def between_neighbours(self, bin_means: Floats) -> Floats:
        """Interpolate each point between the means of the bins around its own, shape (n,).

        The first and last bin use extrapolated means.
        """
        distance, offset = self._neighbours
        extended = _extend(bin_means)
        slope = (extended[2:] - extended[:-2]) / distance
        return self.spread_out(extended[:-2]) + self.spread_out(slope) * offset

    @cached_property
    def _neighbours(self) -> tuple[Floats, Floats]:
        """Distance between the centres of the two neighbours of each bin, shape (bins,), and
        distance of each point from the centre of the bin before its own, shape (n,).
        """
        centres = _extend(self.starts + (self.counts - 1) / 2)
        before, after = centres[:-2], centres[2:]
        return after - before, np.arange(self.n, dtype=float) - self.spread_out(before)

    @cached_property
    def _row_indices(self) -> Indices:
        """Flat index of each point in an array with one row per bin, padded to the longest bin.
        Shape (n,).
        """
        rows = np.arange(len(self)) * self.counts.max() - self.starts
        indices: Indices = np.arange(self.n) + rows.repeat(self.counts)
        return indices


@lru_cache(maxsize=256)
def equal_bins(n: int, count: int) -> Bins:
    """Return `count` bins of n >= count points. Point i lies in bin floor(i * count / n)."""
    edges = (np.arange(count + 1) * n + count - 1) // count
    edges.flags.writeable = False  # the cached array is shared by all callers
    counts = np.diff(edges)
    counts.flags.writeable = False
    return Bins(n, edges[:-1], counts)


def for_fit(n: int) -> Bins:
    """Return the bins of the estimator: clip(round(sqrt(n)), 8, 40), at least two points each."""
    return equal_bins(n, max(1, min(int(max(8, min(round(n**0.5), 40))), n // 2)))


def for_onset(n: int) -> Bins:
    """Return the bins of the search for the onset: clip(n / 5, 16, 100)."""
    return equal_bins(n, min(int(max(16, min(n / 5, 100))), n))


def resample_evenly(steps: Floats, *series: Floats) -> tuple[Floats, ...]:
    """Resample the series to the same number of even steps by linear interpolation.

    Even steps are returned unchanged. Bins of equal counts are then bins of equal time. Otherwise
    a densely logged part would be stretched, and a straight course would bend where the logging
    changes.
    """
    gaps = np.diff(steps)
    if gaps.max() - gaps.min() <= UNEVEN * gaps.max():
        return steps, *series
    even = np.linspace(steps[0], steps[-1], len(steps))
    return even, *(np.interp(even, steps, values) for values in series)


def _extend(values: Floats) -> Floats:
    """Extrapolate the values linearly by one at each end."""
    extended = np.empty(len(values) + 2)
    extended[1:-1] = values
    extended[0] = 2 * values[0] - values[1]
    extended[-1] = 2 * values[-1] - values[-2]
    return extended
