"""Estimate the spread of a number over all seeds, and the share of seeds that follow the law.

With e the error of a seed and t the true spread, Q(t) = sum (y - mean(t))^2 / (e^2 + t^2) is
chi-squared with (seeds - 1) degrees of freedom (Viechtbauer, Statistics in Medicine 26(1), 2007).
Its quantiles bound t. The numbers of single seeds are shrunk towards the mean, averaged over the
same distribution of t.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from harness.law.compare.random_effects import NORMAL_95, RUN_95, Sample
from harness.law.population_results import LawShare
from harness.law.results import Floats, Interval

POINTS = 160
LEAST, MOST = 1e-4, 1e4
"""Ends of the grid of t, in units of the spread of the numbers."""
LEAST_ERROR, MOST_ERROR = 0.7, RUN_95 / NORMAL_95
"""Range of a seed's true error as a share of its estimated error. The upper limit of t uses the
smallest errors, the lower limit the largest (benchmarks/levels.md)."""
ALIKE, TINY = 1e-9, 1e-300
"""Relative difference up to which numbers count as copies, and the lower limit of a sum of squares
before its logarithm is taken."""
SHARES = (np.arange(40) + 0.5) / 40
"""Probabilities of the quantiles of t to average over."""
FOLLOWS = ("holds", "holds_form_open", "holds_until_onset")
"""Verdicts that count as following the law."""
UNDETERMINED = "undetermined"
TAIL = 0.025
"""Probability beyond each limit of the interval of the share."""


def are_alike(values: Floats) -> bool:
    """Return whether there is only one number, or all are copies of one."""
    return len(values) < 2 or not values.std() > ALIKE * np.abs(values).max()


def spread(seeds: Sample, estimate: float) -> Interval | None:
    """Return `estimate`, the standard deviation of the true numbers, with its 95% interval.

    None below two seeds, or if all are equal. If seeds agree better than their errors allow for any
    t, the errors are too large. The upper limit is then that of the spread of the numbers
    themselves, which is at least that of the true numbers.
    """
    low = _quantiles(Sample(seeds.values, MOST_ERROR * seeds.errors), np.array([0.025]))
    high = _quantiles(Sample(seeds.values, LEAST_ERROR * seeds.errors), np.array([0.975]))
    if low is None or high is None:
        return None
    highest = float(high[0])
    if highest == 0:
        df = len(seeds) - 1
        highest = float(seeds.values.std(ddof=1)) * (df / float(special.chdtri(df, 0.975))) ** 0.5
    return Interval(estimate, min(float(low[0]), estimate), max(highest, estimate))


def partially_pool(seeds: Sample) -> list[Interval | None]:
    """Return the partially pooled number of each seed; None if the spread or the errors are not
    known.
    """
    quantiles = _quantiles(seeds, SHARES)
    if quantiles is None or not seeds.is_weighable:
        return [None] * len(seeds)
    t_squared = quantiles[:, None] ** 2
    squared_errors = (MOST_ERROR * seeds.errors) ** 2
    weights = 1 / (squared_errors + t_squared)
    mean = (weights @ seeds.values / weights.sum(axis=1))[:, None]
    own_weight = t_squared / (squared_errors + t_squared)
    centres = own_weight * seeds.values + (1 - own_weight) * mean
    variances = own_weight * squared_errors + (1 - own_weight) ** 2 / weights.sum(axis=1)[:, None]
    centre = centres.mean(axis=0)
    half = NORMAL_95 * np.sqrt(variances.mean(axis=0) + centres.var(axis=0))
    return [
        Interval(*map(float, ends))
        for ends in zip(centre, centre - half, centre + half, strict=True)
    ]


def _quantiles(seeds: Sample, shares: Floats) -> Floats | None:
    """Return quantiles of the spread t: t with Q(t) at the opposite quantile of chi-squared.

    A quantile is 0 if Q(0) is already smaller. None for one seed, or if all are equal.
    """
    if are_alike(seeds.values):
        return None
    grid = float(seeds.values.std()) * np.geomspace(LEAST, MOST, POINTS)
    weights = 1 / (seeds.errors**2 + grid[:, None] ** 2)
    mean = (weights @ seeds.values / weights.sum(axis=1))[:, None]
    squares = (weights * (seeds.values - mean) ** 2).sum(axis=1)
    targets = special.chdtri(len(seeds) - 1, shares)
    quantiles: Floats = np.exp(
        np.interp(-np.log(targets), -np.log(np.maximum(squares, TINY)), np.log(grid))
    )
    return np.where(targets > squares[0], 0.0, quantiles)


def share_following(verdicts: Sequence[str | None]) -> LawShare:
    """Return the share of seeds that follow the law.

    `verdicts` has one verdict per seed, None for a diverged run or one without a verdict. The
    interval reaches from the lower limit if no undetermined seed follows the law to the upper limit
    if all do. Limits: Clopper and Pearson 1934.
    """
    followers = sum(verdict in FOLLOWS for verdict in verdicts)
    unknown = sum(verdict in (None, UNDETERMINED) for verdict in verdicts)
    n = len(verdicts)
    decided = n - unknown
    if not decided:
        why = "no_law" if n else "no_run"
        return LawShare(None, None, followers, 0, unknown, why)
    value = followers / decided
    return LawShare(
        Interval(value, _lower(followers, n), _upper(followers + unknown, n)),
        Interval(value, _lower(followers, decided), _upper(followers, decided)),
        followers,
        decided - followers,
        unknown,
        None,
    )


def _lower(count: int, n: int) -> float:
    return float(special.betaincinv(count, n - count + 1, TAIL)) if count else 0.0


def _upper(count: int, n: int) -> float:
    return float(special.betaincinv(count + 1, n - count, 1 - TAIL)) if count < n else 1.0
