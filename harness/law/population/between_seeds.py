"""The spread of a number between seeds, beyond their own errors, and each seed's partial pooling.

The sum of squares Q(t) = sum (y - mean(t))^2 / (e^2 + t^2), with e a seed's own error, is a
chi-squared of one degree of freedom fewer than seeds where t is the true spread (Viechtbauer,
Statistics in Medicine 26(1), 2007): its quantiles bound t. The same distribution of t says how far
a seed's number is drawn to the mean: the average over it of what each t says.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from harness.law.compare.random_effects import NORMAL_95, RUN_95, Sample
from harness.law.results import Floats, Interval

POINTS = 160
LEAST, MOST = 1e-4, 1e4
"""Ends of the grid of t, in units of the spread of the numbers."""
SHARES = (np.arange(40) + 0.5) / 40
"""Of the distribution of t, to average over."""


def spread(seeds: Sample, estimate: float) -> Interval | None:
    """The standard deviation of the true numbers, `estimate` with its 95% interval; None below two
    seeds, and where they are all the same.
    """
    grid, squares = _profile(seeds)
    if grid is None or squares is None:
        return None
    low, high = _at(grid, squares, np.array([0.025, 0.975]), len(seeds))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def pooled(seeds: Sample) -> list[Interval | None]:
    """Each seed's number where the others have their say in it; None where no spread is known, or
    the seeds' own errors are not.
    """
    grid, squares = _profile(seeds)
    if grid is None or squares is None or not seeds.weighable:
        return [None] * len(seeds)
    t = _at(grid, squares, SHARES, len(seeds))[:, None] ** 2
    own = (seeds.errors * RUN_95 / NORMAL_95) ** 2
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


def _profile(seeds: Sample) -> tuple[Floats | None, Floats | None]:
    """Values of t and Q(t)."""
    scale = float(seeds.values.std()) if len(seeds) > 1 else 0.0
    if not scale > 0:
        return None, None
    grid = scale * np.geomspace(LEAST, MOST, POINTS)
    weights = 1 / (seeds.errors**2 + grid[:, None] ** 2)
    mean = (weights @ seeds.values / weights.sum(axis=1))[:, None]
    squares: Floats = (weights * (seeds.values - mean) ** 2).sum(axis=1)
    return grid, squares


def _at(grid: Floats, squares: Floats, shares: Floats, seeds: int) -> Floats:
    """Quantiles of t: it is below its `share` where Q is above that quantile of chi-squared."""
    wanted = special.chdtri(seeds - 1, shares)
    found: Floats = np.exp(np.interp(-np.log(wanted), -np.log(squares), np.log(grid)))
    return np.where(wanted > squares[0], 0.0, found)
