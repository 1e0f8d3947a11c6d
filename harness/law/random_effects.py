"""Means over seeds and their differences, where seeds are the replicates and steps are not.

Random effects: DerSimonian and Laird 1986 for the variance between seeds, Hartung and Knapp 2001
for the scale of the error, which is never taken below 1. Runs of one config differ by more than
their own errors say: pooling those alone calls half of all null differences real.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.law import numbers
from harness.law.results import Floats, Interval

NORMAL_95 = 1.959964
SHARPEST = 1e-3
"""An error below this share of the median one is no measurement, but a run without noise."""
FEWEST_SEEDS = 2
"""With one there is no spread, and so no interval."""


@dataclass(frozen=True)
class Sample:
    """One number a seed and its standard error, both of shape (seeds,)."""

    values: Floats
    errors: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def weighable(self) -> bool:
        """Whether every number has an error to be weighed by."""
        return bool((self.errors > 0).all())


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    df: float

    def interval(self, level: float = 0.95) -> Interval:
        half = numbers.t_quantile((1 + level) / 2, self.df) * self.error
        return Interval(self.value, self.value - half, self.value + half)


def sample(intervals: list[Interval]) -> Sample:
    """Of runs' own 95% intervals, read as normal ones: they are wider, and so are the errors."""
    values = np.array([i.value for i in intervals])
    errors = np.array([(i.high - i.low) / 2 / NORMAL_95 for i in intervals])
    least = SHARPEST * float(np.median(errors)) if intervals else 0.0
    return Sample(values, np.maximum(errors, least))


def unweighted(values: list[float]) -> Sample:
    """Numbers whose own errors are not known, or not wanted."""
    return Sample(np.array(values), np.zeros(len(values)))


def mean(given: Sample) -> Estimate | None:
    """Over the seeds of one group; None below two seeds."""
    if len(given) < FEWEST_SEEDS:
        return None
    if not given.weighable:
        spread = float(given.values.std(ddof=1))
        return Estimate(float(given.values.mean()), spread / len(given) ** 0.5, len(given) - 1)
    (value,), error = _weighed([given])
    return Estimate(value, error, len(given) - 1)


def difference(first: Sample, second: Sample) -> Estimate | None:
    """Of `first` minus `second`; None below two seeds in either, or without any spread.

    Without errors to weigh by, Welch's.
    """
    if min(len(first), len(second)) < FEWEST_SEEDS:
        return None
    if not (first.weighable and second.weighable):
        return _welch(first.values, second.values)
    (one, other), error = _weighed([first, second])
    return Estimate(one - other, error, len(first) + len(second) - 2)


def _weighed(samples: list[Sample]) -> tuple[list[float], float]:
    """The mean of each sample under one variance between seeds; the error of their contrast."""
    weights = _weights(samples, _between(samples))
    means = _means(samples, weights)
    left = sum(
        float(w @ (s.values - m) ** 2) for s, w, m in zip(samples, weights, means, strict=True)
    )
    free = sum(map(len, samples)) - len(samples)
    scale = max(1.0, left / free)
    return means, float((scale * sum(1 / w.sum() for w in weights)) ** 0.5)


def _weights(samples: list[Sample], between: float) -> list[Floats]:
    return [1 / (s.errors**2 + between) for s in samples]


def _means(samples: list[Sample], weights: list[Floats]) -> list[float]:
    return [float(w @ s.values / w.sum()) for s, w in zip(samples, weights, strict=True)]


def _between(samples: list[Sample]) -> float:
    """Variance between seeds of one sample, in common, by the moments of the weighted residuals."""
    weights = _weights(samples, 0.0)
    means = _means(samples, weights)
    q = sum(float(w @ (s.values - m) ** 2) for s, w, m in zip(samples, weights, means, strict=True))
    free = sum(map(len, samples)) - len(samples)
    c = sum(float(w.sum() - w @ w / w.sum()) for w in weights)
    return max(0.0, (q - free) / c)


def _welch(first: Floats, second: Floats) -> Estimate | None:
    parts = [float(v.var(ddof=1)) / len(v) for v in (first, second)]
    total = sum(parts)
    if total <= 0:
        return None
    df = total**2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (first, second), strict=True))
    return Estimate(float(first.mean() - second.mean()), total**0.5, df)
