"""Point estimates with 95% confidence intervals, for independent or clustered observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

Z = 1.959963984540054
RESAMPLES = 500


@dataclass(frozen=True)
class ConfidenceInterval:
    """An estimate with its 95% confidence interval."""

    value: float
    low: float
    high: float


def mean(values: ArrayLike) -> ConfidenceInterval | None:
    """Return the mean of independent `values` with Student's t interval; None for fewer than 2."""
    array = np.asarray(values, float)
    if array.size < 2:
        return None
    half = float(stdtrit(array.size - 1, 0.975) * array.std(ddof=1) / np.sqrt(array.size))
    value = float(array.mean())
    return ConfidenceInterval(value, value - half, value + half)


def clustered_mean(values: ArrayLike, clusters: ArrayLike) -> ConfidenceInterval | None:
    """Return the mean of clustered `values` with a t interval; None for fewer than two clusters.

    NaN values are left out.
    """
    array, labels = np.asarray(values, float), np.asarray(clusters)
    is_known = np.isfinite(array)
    error, df = clustered_error(array[is_known], labels[is_known])
    if df < 1:
        return None
    value, half = float(array[is_known].mean()), float(stdtrit(df, 0.975)) * error
    return ConfidenceInterval(value, value - half, value + half)


def clustered_error(values: Floats, clusters: NDArray[Any]) -> tuple[float, int]:
    """Return the cluster-robust standard error of the mean of `values`, and its degrees of freedom.

    The error is NaN for fewer than two clusters.
    """
    _, indices = np.unique(clusters, return_inverse=True)
    count = int(indices.max(initial=-1)) + 1
    if count < 2:
        return float("nan"), count - 1
    sums = np.bincount(indices, values - values.mean())
    error = float(np.sqrt(count / (count - 1) * (sums**2).sum())) / values.size
    return error, count - 1


def share(hits: ArrayLike) -> ConfidenceInterval | None:
    """Return the share of true `hits` with Wilson's interval, which has width even at 0 and 1."""
    array = np.asarray(hits, bool)
    n = array.size
    if n == 0:
        return None
    p = float(array.mean())
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return ConfidenceInterval(p, min(p, float(centre - half)), max(p, float(centre + half)))


def correlation(pairs: list[tuple[Floats, Floats]]) -> ConfidenceInterval | None:
    """Return Pearson's correlation pooled over clusters of pairs, with a cluster bootstrap.

    None for fewer than two clusters, or where a correlation is undefined.
    """
    if len(pairs) < 2:
        return None
    sums = np.array([_moments(x, y) for x, y in pairs])
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
    value = _correlation(sums.sum(axis=0)[None])[0]
    resampled = _correlation(weights @ sums)
    if not np.isfinite(value) or not np.isfinite(resampled).all():
        return None
    low, high = np.quantile(resampled, [0.025, 0.975])
    return ConfidenceInterval(float(value), float(low), float(high))


def _moments(x: Floats, y: Floats) -> list[float]:
    return [len(x), x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()]


def _correlation(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt((n * xx - x * x) * (n * yy - y * y))
        return np.asarray((n * xy - x * y) / spread)
