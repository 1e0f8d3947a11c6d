"""Average one number over runs that differ only in the seed, with a 95% interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.law.compare import random_effects
from harness.law.estimate import numbers
from harness.law.group_results import SeedMean
from harness.law.results import Interval


def count_unknown_seeds(seeds: Sequence[int | None]) -> int:
    """Return the number of runs with an unknown seed, which may be repeats; 0 for a single run."""
    return seeds.count(None) if len(seeds) > 1 else 0


def drop_interval_of_repeats(mean: SeedMean, seeds: Sequence[int | None]) -> SeedMean:
    """Remove the interval if runs may be repeats, whose spread is not the spread over seeds."""
    return replace(mean, low=None, high=None) if count_unknown_seeds(seeds) else mean


def mean_over_seeds(values: Sequence[float], censored: int) -> SeedMean:
    """Return the mean over seeds and its 95% t interval. Seeds, not steps, are the replicates."""
    n = len(values)
    if n == 0:
        return SeedMean(None, None, None, 0, censored)
    mean = float(np.mean(values))
    if n == 1:
        return SeedMean(mean, None, None, 1, censored)
    half = numbers.t_quantile(0.975, n - 1) * float(np.std(values, ddof=1)) / n**0.5
    return SeedMean(mean, mean - half, mean + half, n, censored)


def unweighted_mean(intervals: Sequence[Interval | None]) -> SeedMean:
    """Return the unweighted mean over runs (see quantities.RunQuantity.weighed)."""
    values = [interval.value for interval in intervals if interval is not None]
    return mean_over_seeds(values, censored=len(intervals) - len(values))


def random_effects_mean(intervals: Sequence[Interval | None]) -> SeedMean:
    """Return the random-effects mean, which gives imprecise runs little weight."""
    measured = [interval for interval in intervals if interval is not None]
    mean = random_effects.mean(random_effects.sample(measured))
    if mean is None:
        return unweighted_mean(intervals)
    interval = mean.interval()
    censored = len(intervals) - len(measured)
    return SeedMean(interval.value, interval.low, interval.high, len(measured), censored)
