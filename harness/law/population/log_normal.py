"""Fit a log-normal distribution to the onsets of collapse over seeds, censored at the last step.

log(onset) ~ Normal(m, s) over seeds, and a run without an onset is censored. The posterior under
the reference prior 1/s is summed on a grid, so it depends on no random seed and no start value of
an optimiser. Without censoring its intervals are exactly Student's and those of chi-squared. With a
fixed number of censored runs they are conditional on the ancillary statistics (Lawless, Statistical
Models and Methods for Lifetime Data, 2003, section 5.1), so they have correct coverage for few
seeds, unlike those of maximum likelihood.

For the choice of log-normal over Weibull see benchmarks/levels.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.law.results import Floats, Interval

FEWEST_ONSETS = 2
"""With fewer onsets there is no proper posterior of s."""
ALIKE = 1e-9
"""Standard deviation of log(onset) below which all onsets count as equal."""
COARSE, ZOOMS = 32, 2
"""Points per side of the coarse grid that locates the posterior, and the number of refinements."""
POINTS, STRIDE = 4181, 2584
"""The Fibonacci lattice of the final sum: consecutive Fibonacci numbers, so that the points are
evenly spread in both coordinates."""
FIRST_LOG_S, FIRST_Z = (-3.0, 10.0), (-8.0, 8.0)
"""Initial range of log(s / spread of the observed onsets), and of (m - their mean) / s."""
NEGLIGIBLE = 12.0
"""The refined box keeps points with a weight above exp(-12) of the largest."""
TAILS = (0.5, 0.025, 0.975)


@dataclass(frozen=True)
class LogNormal:
    """Posterior of the log-normal distribution of onsets, as weighted grid points."""

    centre: float
    """Mean of log(onset) over the runs with one."""
    s: Floats
    z: Floats
    """(m - centre) / s. s, z and weights have one entry per grid point."""
    weights: Floats

    def median(self) -> Interval:
        """Return the step by which half of all seeds collapse, with a 95% interval.

        A step beyond the range of floats is infinite.
        """
        ends = _quantiles(self.z * self.s, self.weights)
        return Interval(*(_exp(self.centre + end) for end in ends))

    def spread(self) -> Interval:
        """Return the standard deviation of log(onset) over seeds, with a 95% interval."""
        return Interval(*_quantiles(self.s, self.weights))


def fit(onsets: Floats, free_until: Floats) -> LogNormal | None:
    """Fit the distribution. `onsets`: observed steps; `free_until`: last steps of censored runs.

    Runs that ended at step 0 are ignored. None if fewer than two onsets were observed, or all are
    equal.
    """
    logs = np.log(onsets)
    spread = float(logs.std()) if len(logs) >= FEWEST_ONSETS else 0.0
    if not spread > ALIKE:
        return None
    centre = float(logs.mean())
    ends, counts = np.unique(np.log(free_until[free_until > 0]) - centre, return_counts=True)
    statistics = _OnsetStatistics(len(logs), spread, ends, counts.astype(float))
    shift = math.log(spread)
    box = _Box((FIRST_LOG_S[0] + shift, FIRST_LOG_S[1] + shift), FIRST_Z)
    for _ in range(ZOOMS):
        box = statistics.narrowed(box)
    index = np.arange(POINTS)
    log_s = _interpolate(box.log_s, (index + 0.5) / POINTS)
    z = _interpolate(box.z, (index * STRIDE % POINTS + 0.5) / POINTS)
    weights = np.exp(statistics.log_weights(log_s, z))
    return LogNormal(centre, np.exp(log_s), z, weights / weights.sum())


def _exp(log: float) -> float:
    try:
        return math.exp(log)
    except OverflowError:
        return math.inf


def _interpolate(ends: tuple[float, float], share: Floats) -> Floats:
    return ends[0] + (ends[1] - ends[0]) * share


@dataclass(frozen=True)
class _Box:
    """A range of log(s) and one of z."""

    log_s: tuple[float, float]
    z: tuple[float, float]


@dataclass(frozen=True)
class _OnsetStatistics:
    """Sufficient statistics of the runs. Logs of steps are relative to the centre."""

    onsets: int
    """The number of observed onsets."""
    spread: float
    """Standard deviation of their logs, with divisor n."""
    ends: Floats
    """Distinct logs of the last steps of censored runs."""
    counts: Floats
    """The number of censored runs at each of `ends`."""

    def log_weights(self, log_s: Floats, z: Floats) -> Floats:
        """Return log(likelihood * prior), shifted to a maximum of 0, for arrays of equal shape."""
        inverse = np.exp(-log_s)
        squares = self.spread**2 * inverse**2 + z**2
        total: Floats = -(self.onsets - 1) * log_s - self.onsets / 2 * squares
        for end, count in zip(self.ends, self.counts, strict=True):
            total += count * special.log_ndtr(z - end * inverse)
        total -= total.max()
        return total

    def narrowed(self, box: _Box) -> _Box:
        """Return the part of a box with non-negligible weight, plus one grid point per side."""
        log_s, z = np.linspace(*box.log_s, COARSE), np.linspace(*box.z, COARSE)
        weights = self.log_weights(*np.meshgrid(log_s, z, indexing="ij"))
        heavy = weights > -NEGLIGIBLE
        s_indices, z_indices = np.nonzero(heavy)
        return _Box(_padded_range(log_s, s_indices), _padded_range(z, z_indices))


def _padded_range(points: Floats, indices: NDArray[np.intp]) -> tuple[float, float]:
    step = float(points[1] - points[0])
    return float(points[indices.min()]) - step, float(points[indices.max()]) + step


def _quantiles(values: Floats, weights: Floats) -> tuple[float, ...]:
    """Return the median and the ends of the 95% interval."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return tuple(float(end) for end in np.interp(TAILS, below, values[order]))
