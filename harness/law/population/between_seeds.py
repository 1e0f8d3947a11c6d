"""What the seeds of a group tell of all seeds: a number's spread, and who follows the law.

The sum of squares Q(t) = sum (y - mean(t))^2 / (e^2 + t^2), with e a seed's own error, is a
chi-squared of one degree of freedom fewer than seeds where t is the true spread (Viechtbauer,
Statistics in Medicine 26(1), 2007): its quantiles bound t. The same distribution of t says how far
a seed's number is drawn to the mean: the average over it of what each t says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from harness.law.compare.random_effects import NORMAL_95, RUN_95, Sample
from harness.law.population_results import Follows
from harness.law.results import Floats, Interval

POINTS = 160
LEAST, MOST = 1e-4, 1e4
"""Ends of the grid of t, in units of the spread of the numbers."""
LEAST_ERROR, MOST_ERROR = 0.7, RUN_95 / NORMAL_95
"""What a seed's own error may be, as a share of what its run says: errors are estimated too. The
upper limit is that of the least errors, the lower of the greatest (benchmarks/levels.md)."""
ALIKE, TINY = 1e-9, 1e-300
"""Numbers no further apart than this share of themselves are one number, copied; a sum of squares
that is no number of its own."""
SHARES = (np.arange(40) + 0.5) / 40
"""Of the distribution of t, to average over."""
FOLLOWS = ("holds", "holds_form_open", "holds_until_onset")
"""Verdicts of a seed that follows the law."""
UNDETERMINED = "undetermined"
TAIL = 0.025
"""Probability beyond each limit of the share of seeds that follow."""


def alike(values: Floats) -> bool:
    """Whether the numbers are one, or copies of one."""
    return len(values) < 2 or not values.std() > ALIKE * np.abs(values).max()


def spread(seeds: Sample, estimate: float) -> Interval | None:
    """The standard deviation of the true numbers, `estimate` with its 95% interval; None below two
    seeds, and where they are all the same.

    Seeds that agree better than any spread with their own errors would have it refute the errors:
    then the limit is that of the numbers themselves, which differ by at least the true ones.
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


def pooled(seeds: Sample) -> list[Interval | None]:
    """Each seed's number where the others have their say in it; None where no spread is known, or
    the seeds' own errors are not.
    """
    quantiles = _quantiles(seeds, SHARES)
    if quantiles is None or not seeds.weighable:
        return [None] * len(seeds)
    t = quantiles[:, None] ** 2
    own = (MOST_ERROR * seeds.errors) ** 2
    weights = 1 / (own + t)
    mean = (weights @ seeds.values / weights.sum(axis=1))[:, None]
    drawn = t / (own + t)
    centres = drawn * seeds.values + (1 - drawn) * mean
    variances = drawn * own + (1 - drawn) ** 2 / weights.sum(axis=1)[:, None]
    centre = centres.mean(axis=0)
    half = NORMAL_95 * np.sqrt(variances.mean(axis=0) + centres.var(axis=0))
    return [
        Interval(*map(float, at)) for at in zip(centre, centre - half, centre + half, strict=True)
    ]


def _quantiles(seeds: Sample, shares: Floats) -> Floats | None:
    """Of the spread t: below its quantile Q(t) lies above that of chi-squared from the other side.
    0 where even Q(0) does not; None of seeds that are all alike, and of one.
    """
    if alike(seeds.values):
        return None
    grid = float(seeds.values.std()) * np.geomspace(LEAST, MOST, POINTS)
    weights = 1 / (seeds.errors**2 + grid[:, None] ** 2)
    mean = (weights @ seeds.values / weights.sum(axis=1))[:, None]
    squares = (weights * (seeds.values - mean) ** 2).sum(axis=1)
    wanted = special.chdtri(len(seeds) - 1, shares)
    found: Floats = np.exp(
        np.interp(-np.log(wanted), -np.log(np.maximum(squares, TINY)), np.log(grid))
    )
    return np.where(wanted > squares[0], 0.0, found)


def following(verdicts: Sequence[str | None]) -> Follows:
    """The share of seeds that follow the law. One verdict a seed; None of a run that diverged, and
    of one without a verdict.

    An undetermined seed follows the law or does not, and nobody knows: the interval reaches from
    the lower limit if none of them does to the upper if all do. Limits: Clopper and Pearson 1934.
    """
    followers = sum(verdict in FOLLOWS for verdict in verdicts)
    unknown = sum(verdict in (None, UNDETERMINED) for verdict in verdicts)
    n = len(verdicts)
    decided = n - unknown
    if not decided:
        why = "no_law" if n else "no_run"
        return Follows(None, None, followers, 0, unknown, why)
    value = followers / decided
    return Follows(
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
