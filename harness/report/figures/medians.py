"""Medians over runs in shared bins, with quantiles around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.results import Floats

STEP_BINS = 60
LOW, HIGH = 0.1, 0.9
"""Quantiles over runs that are drawn as a band."""


@dataclass(frozen=True)
class MedianBand:
    """Median and band over runs, at the steps (or values of H) that any run has."""

    at: Floats
    median: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class NullControls:
    """The null controls of a level, drawn behind its runs."""

    runs: int
    entropy: MedianBand
    reward: MedianBand


def bins(arrays: Sequence[Floats], count: int = STEP_BINS) -> Floats:
    """Return the edges of `count` bins from the lowest value of all arrays to the highest."""
    return np.linspace(min(a.min() for a in arrays), max(a.max() for a in arrays), count + 1)


def medians_over_runs(x: Sequence[Floats], values: Sequence[Floats], edges: Floats) -> MedianBand:
    """Return the medians over runs of each run's bin means. `x`, `values`: one array per run."""
    pairs = zip(x, values, strict=True)
    on_grid = np.array([_bin_means(run_x, run_values, edges) for run_x, run_values in pairs])
    return median_band((edges[1:] + edges[:-1]) / 2, on_grid)


def median_band(x: Floats, values: Floats) -> MedianBand:
    """Return the median over axis 0, without NaN, where any run has a value.

    `values` has the shape (runs, len(x)).
    """
    has_value = np.isfinite(values).any(axis=0)
    median, low, high = np.nanquantile(values[:, has_value], [0.5, LOW, HIGH], axis=0)
    return MedianBand(x[has_value], median, low, high)


def _bin_means(steps: Floats, values: Floats, edges: Floats) -> Floats:
    """Return the mean of a run's values in each bin, NaN in an empty bin. Shape (bins,)."""
    count = len(edges) - 1
    label = np.searchsorted(edges[1:-1], steps, side="right")
    counts = np.bincount(label, minlength=count)
    sums = np.bincount(label, values, minlength=count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
