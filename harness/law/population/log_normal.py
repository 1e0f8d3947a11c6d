"""The onset of collapse over the seeds of a level as a log-normal time, seen up to a last step.

log(onset) ~ Normal(m, s) over seeds; a run without an onset says that its own lies later. The
posterior under the reference prior 1/s is summed on a grid, so that no seed of a generator and no
optimiser's start is in it. Without censoring its intervals are exactly Student's and those of
chi-squared, and with a fixed number of censored runs they are those that condition on the
ancillary (Lawless, Statistical Models and Methods for Lifetime Data, 2003, section 5.1), which is
why they cover from few seeds where those of maximum likelihood do not.

Log-normal and not Weibull: benchmarks/levels.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.law.results import Floats, Interval

FEWEST_ONSETS = 2
"""With fewer there is no posterior: nothing says how far onsets lie apart."""
ALIKE = 1e-9
"""Onsets no further apart than this, in logs, are one step."""
COARSE, ZOOMS = 32, 2
"""Points a side of a grid that finds where the weight is, and how often it is narrowed."""
POINTS, STRIDE = 4181, 2584
"""Of the Fibonacci lattice that is summed over: two neighbours of Fibonacci's numbers, so that the
points lie evenly in both coordinates and no two share one."""
FIRST_LOG_S, FIRST_Z = (-3.0, 10.0), (-8.0, 8.0)
"""Range of log(s / the spread of the onsets seen), and of (m - their mean) / s."""
NEGLIGIBLE = 12.0
"""Points whose weight is below exp(-12) of the largest are left out."""
TAILS = (0.5, 0.025, 0.975)


@dataclass(frozen=True)
class LogNormal:
    """What is known of the onsets of a level."""

    centre: float
    """Mean of log(onset) over the runs with one."""
    s: Floats
    z: Floats
    """(m - centre) / s; s, z and the weights have one entry a point of the grid."""
    weights: Floats

    def median(self) -> Interval:
        """The step by which half of all seeds collapse."""
        m = _quantiles(self.z * self.s, self.weights)
        return Interval(*(math.exp(self.centre + end) for end in m))

    def spread(self) -> Interval:
        """The standard deviation of log(onset) over seeds."""
        return Interval(*_quantiles(self.s, self.weights))


def fit(onsets: Floats, free_until: Floats) -> LogNormal | None:
    """`onsets`: the steps of those seen; `free_until`: the last steps of runs without one. All are
    above 0, but for runs that ended before they had begun: these say nothing.

    None where fewer than two are seen, or all at one step.
    """
    logs = np.log(onsets)
    spread = float(logs.std()) if len(logs) >= FEWEST_ONSETS else 0.0
    if not spread > ALIKE:
        return None
    centre = float(logs.mean())
    ends, counts = np.unique(np.log(free_until[free_until > 0]) - centre, return_counts=True)
    seen = _Seen(len(logs), spread, ends, counts.astype(float))
    shift = math.log(spread)
    box = _Box((FIRST_LOG_S[0] + shift, FIRST_LOG_S[1] + shift), FIRST_Z)
    for _ in range(ZOOMS):
        box = seen.narrowed(box)
    at = np.arange(POINTS)
    log_s = _across(box.log_s, (at + 0.5) / POINTS)
    z = _across(box.z, (at * STRIDE % POINTS + 0.5) / POINTS)
    weights = np.exp(seen.log_weights(log_s, z))
    return LogNormal(centre, np.exp(log_s), z, weights / weights.sum())


def _across(ends: tuple[float, float], share: Floats) -> Floats:
    return ends[0] + (ends[1] - ends[0]) * share


@dataclass(frozen=True)
class _Box:
    """A range of log(s) and one of z."""

    log_s: tuple[float, float]
    z: tuple[float, float]


@dataclass(frozen=True)
class _Seen:
    """What the likelihood takes from the runs; logs of steps are from the centre."""

    onsets: int
    spread: float
    """Of the logs of the onsets, with their number as the divisor."""
    ends: Floats
    counts: Floats
    """Each log of a last step, and how many runs without an onset have it."""

    def log_weights(self, log_s: Floats, z: Floats) -> Floats:
        """Log of likelihood times prior, the largest 0, for arrays of one shape."""
        inverse = np.exp(-log_s)
        squares = self.spread**2 * inverse**2 + z**2
        total: Floats = -(self.onsets - 1) * log_s - self.onsets / 2 * squares
        for end, count in zip(self.ends, self.counts, strict=True):
            total += count * special.log_ndtr(z - end * inverse)
        total -= total.max()
        return total

    def narrowed(self, box: _Box) -> _Box:
        """The part of a box that has the weight, one point wider on each side."""
        log_s, z = np.linspace(*box.log_s, COARSE), np.linspace(*box.z, COARSE)
        weights = self.log_weights(*np.meshgrid(log_s, z, indexing="ij"))
        heavy = weights > -NEGLIGIBLE
        of_s, of_z = np.nonzero(heavy)
        return _Box(_around(log_s, of_s), _around(z, of_z))


def _around(points: Floats, places: NDArray[np.intp]) -> tuple[float, float]:
    step = float(points[1] - points[0])
    return float(points[places.min()]) - step, float(points[places.max()]) + step


def _quantiles(values: Floats, weights: Floats) -> tuple[float, ...]:
    """The median and the ends of the 95% interval."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return tuple(float(end) for end in np.interp(TAILS, below, values[order]))
