"""Contiguous bins of equal counts, and the steps made even for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.law.results import Floats

Places = NDArray[np.intp]
UNEVEN = 1e-6
"""Share by which gaps between steps may differ and still be equal: rounding of other units."""


@dataclass(frozen=True)
class Bins:
    """Bins of n points in order, their counts differing by at most one."""

    n: int
    starts: Places
    """The first point of each bin. Shape (bins,)."""
    counts: Places
    """Points of each bin, at least one. Shape (bins,)."""

    def __len__(self) -> int:
        return len(self.starts)

    def means(self, values: Floats) -> Floats:
        """Mean of each bin. `values`: shape (n,); result: shape (bins,)."""
        result: Floats = np.add.reduceat(values, self.starts) / self.counts
        return result

    def medians(self, values: Floats) -> Floats:
        """Median of each bin. `values`: shape (n,); result: shape (bins,)."""
        widest = int(self.counts.max())
        padded = np.full(len(self) * widest, np.inf)
        padded[self._row_places] = values
        rows = padded.reshape(-1, widest)
        rows.sort(axis=1)
        bins, counts = np.arange(len(self)), self.counts
        result: Floats = (rows[bins, (counts - 1) // 2] + rows[bins, counts // 2]) / 2
        return result

    def spread_out(self, of_bins: Floats) -> Floats:
        """The value of its bin for each point. `of_bins`: shape (bins,); result: shape (n,)."""
        return of_bins.repeat(self.counts)

    def between_neighbours(self, bin_means: Floats) -> Floats:
        """On the line through the means of the bins before and after; beyond the ends,
        extrapolated. Shape (n,).
        """
        apart, away = self._neighbours
        middle = _extended(bin_means)
        slope = (middle[2:] - middle[:-2]) / apart
        return self.spread_out(middle[:-2]) + self.spread_out(slope) * away

    @cached_property
    def _neighbours(self) -> tuple[Floats, Floats]:
        """Distances between the centres of the bins before and after each, shape (bins,), and each
        point from the centre of the bin before its own, shape (n,).
        """
        at = _extended(self.starts + (self.counts - 1) / 2)
        return at[2:] - at[:-2], np.arange(self.n, dtype=float) - self.spread_out(at[:-2])

    @cached_property
    def _row_places(self) -> Places:
        """The place of each point if every bin is a row as long as the longest. Shape (n,)."""
        rows = np.arange(len(self)) * self.counts.max() - self.starts
        place: Places = np.arange(self.n) + rows.repeat(self.counts)
        return place


@lru_cache(maxsize=256)
def of(n: int, count: int) -> Bins:
    """Point i of n, at least `count`, lies in bin floor(i * count / n)."""
    edges = (np.arange(count + 1) * n + count - 1) // count
    edges.flags.writeable = False  # shared by all who ask
    counts = np.diff(edges)
    counts.flags.writeable = False
    return Bins(n, edges[:-1], counts)


def for_fit(n: int) -> Bins:
    """Those of the estimator: clip(round(sqrt(n)), 8, 40), with at least two points in each."""
    return of(n, max(1, min(int(max(8, min(round(n**0.5), 40))), n // 2)))


def for_onset(n: int) -> Bins:
    """Those that the onset is sought on: clip(n / 5, 16, 100)."""
    return of(n, min(int(max(16, min(n / 5, 100))), n))


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


def _extended(values: Floats) -> Floats:
    """With one more at each end, on the line through the two beside it."""
    extended = np.empty(len(values) + 2)
    extended[1:-1] = values
    extended[0] = 2 * values[0] - values[1]
    extended[-1] = 2 * values[-1] - values[-2]
    return extended
