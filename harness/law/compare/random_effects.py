"""Estimate means over seeds and their differences. Seeds, not steps, are the replicates.

Random effects: DerSimonian and Laird 1986 for the variance between seeds, Hartung and Knapp 2001
for the scale of the error. Runs of one config differ by more than their own errors, and pooling by
those errors alone makes half of all null differences significant. If seeds agree better than their
errors predict, the scale is reduced below 1 only as far as the data rule out larger values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.estimate import numbers
from harness.law.results import Floats, Interval

NORMAL_95 = 1.959964
RUN_95 = 2.364624
"""Half-width of a run's own 95% interval in standard errors: Student's t with the 7 degrees of
freedom of a jackknife over eight time blocks (estimate/interval.py)."""
SHARPEST = 2 / 3
"""Lower limit of a run's error, as a share of the median error. A run whose reward is at a bound
has almost no noise, and would otherwise dominate the mean."""
REFUTED = 0.9
"""Confidence of the upper bound to which errors are scaled down if seeds agree better than the
errors predict. The intervals of runs are conservative (estimate/interval.py)."""
ALIKE = 1e-6
"""Weighted sum of squares below which seeds are repeats of each other, or all at a bound. They do
not measure the spread, so errors are not scaled down."""
FEWEST_SEEDS = 2
"""Smallest number of seeds with a spread, and so an interval."""


@dataclass(frozen=True)
class Sample:
    """One number per seed and its standard error, both of shape (seeds,)."""

    values: Floats
    errors: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_weighable(self) -> bool:
        """Whether every number has an error above 0, so that it can be weighted."""
        return bool((self.errors > 0).all())


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, its standard error, and the degrees of freedom of the error."""

    value: float
    error: float
    df: float

    def interval(self, level: float = 0.95) -> Interval:
        half = numbers.t_quantile((1 + level) / 2, self.df) * self.error
        return Interval(self.value, self.value - half, self.value + half)


@dataclass(frozen=True)
class MeanDifference(Estimate):
    """A difference of the means of two groups."""

    spreads: tuple[float, float]
    """Standard deviations over seeds that correspond to the errors of the two means."""


def sample(intervals: list[Interval]) -> Sample:
    """Return a sample from the 95% intervals of single runs."""
    values = np.array([interval.value for interval in intervals])
    errors = np.array([(interval.high - interval.low) / 2 / RUN_95 for interval in intervals])
    smallest = SHARPEST * float(np.median(errors)) if intervals else 0.0
    return Sample(values, np.maximum(errors, smallest))


def unweighted(values: list[float]) -> Sample:
    """Return a sample of numbers without errors of their own."""
    return Sample(np.array(values), np.zeros(len(values)))


def mean(seeds: Sample) -> Estimate | None:
    """Return the mean over the seeds of one group; None below two seeds."""
    if len(seeds) < FEWEST_SEEDS:
        return None
    if not seeds.is_weighable:
        spread = float(seeds.values.std(ddof=1))
        return Estimate(float(seeds.values.mean()), spread / len(seeds) ** 0.5, len(seeds) - 1)
    value, error = _weighted_mean(seeds)
    return Estimate(value, error, len(seeds) - 1)


def difference(first: Sample, second: Sample) -> MeanDifference | None:
    """Return the mean of `first` minus that of `second`.

    Each group has its own spread, because seeds of one level may differ four times as much as those
    of another. Degrees of freedom: Satterthwaite 1946. For unweighted samples this is Welch's test.
    None below two seeds in either, or without spread.
    """
    first_mean, second_mean = mean(first), mean(second)
    if first_mean is None or second_mean is None:
        return None
    total = first_mean.error**2 + second_mean.error**2
    if total <= 0:
        return None
    shares = (first_mean.error**2 / total, second_mean.error**2 / total)
    df = 1 / (shares[0] ** 2 / first_mean.df + shares[1] ** 2 / second_mean.df)
    spreads = (first_mean.error * len(first) ** 0.5, second_mean.error * len(second) ** 0.5)
    return MeanDifference(first_mean.value - second_mean.value, total**0.5, df, spreads)


def _weighted_mean(seeds: Sample) -> tuple[float, float]:
    """Return the weighted mean and its standard error."""
    weights = 1 / (seeds.errors**2 + between(seeds) ** 2)
    squares, df = _sum_of_squares(seeds, weights), len(seeds) - 1
    highest = squares / float(special.chdtri(df, REFUTED)) if squares > ALIKE else 1.0
    """Upper bound of the scale, with the confidence REFUTED."""
    scale = max(squares / df, min(1.0, highest))
    return _centre(seeds, weights), float((scale / weights.sum()) ** 0.5)


def _centre(seeds: Sample, weights: Floats) -> float:
    return float(weights @ seeds.values / weights.sum())


def _sum_of_squares(seeds: Sample, weights: Floats) -> float:
    """Return the weighted sum of squares around the mean."""
    return float(weights @ (seeds.values - _centre(seeds, weights)) ** 2)


def between(seeds: Sample) -> float:
    """Return the standard deviation of the true numbers between seeds, by the method of moments.

    For an unweighted sample it is that of the numbers. 0 below two seeds.
    """
    if len(seeds) < FEWEST_SEEDS:
        return 0.0
    if not seeds.is_weighable:
        return float(seeds.values.std(ddof=1))
    weights = 1 / seeds.errors**2
    c = float(weights.sum() - weights @ weights / weights.sum())
    return float(max(0.0, (_sum_of_squares(seeds, weights) - (len(seeds) - 1)) / c) ** 0.5)
