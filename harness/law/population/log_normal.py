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
from scipy import special

from harness.law.results import Floats, Interval

FEWEST_ONSETS = 2
"""With fewer there is no posterior: nothing says how far onsets lie apart."""
ZOOMS = ((32, 32), (32, 32), (72, 60))
"""Points of s and of (m - centre) / s, of each grid: the last is where the weight is."""
FIRST_LOG_S, FIRST_Z = (-3.0, 10.0), (-8.0, 8.0)
"""Range of log(s / the spread of the onsets seen), and of (m - their mean) / s."""
NEGLIGIBLE = 18.0
"""Points whose weight is below exp(-18) of the largest are outside of the next grid."""
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

    def before(self, step: float) -> Interval:
        """P(collapse before the step)."""
        at = (math.log(step) - self.centre) / self.s - self.z
        return Interval(*map(float, special.ndtr(_quantiles(at, self.weights))))


def fit(onsets: Floats, free_until: Floats) -> LogNormal | None:
    """`onsets`: the steps of those seen; `free_until`: the last steps of runs without one.

    None where fewer than two are seen, or all at one step.
    """
    logs = np.log(onsets)
    spread = float(logs.std()) if len(logs) >= FEWEST_ONSETS else 0.0
    if not spread > 0:
        return None
    centre = float(logs.mean())
    ends, counts = np.unique(np.log(free_until) - centre, return_counts=True)
    box = (
        FIRST_LOG_S[0] + math.log(spread), FIRST_LOG_S[1] + math.log(spread), *FIRST_Z
    )  # fmt: skip
    for points in ZOOMS:
        log_s, z = np.linspace(box[0], box[1], points[0]), np.linspace(box[2], box[3], points[1])
        logs_w = _log_weights(log_s, z, len(logs), spread, ends, counts)
        heavy = logs_w > logs_w.max() - NEGLIGIBLE
        box = (*_around(log_s, heavy.any(axis=1)), *_around(z, heavy.any(axis=0)))
    weights = np.exp(logs_w - logs_w.max()).ravel()
    s, zs = np.meshgrid(np.exp(log_s), z, indexing="ij")
    return LogNormal(centre, s.ravel(), zs.ravel(), weights / weights.sum())


def _log_weights(
    log_s: Floats, z: Floats, seen: int, spread: float, ends: Floats, counts: Floats
) -> Floats:
    """Log of likelihood times prior, shape (s, z), where a step in z is one of s z in m."""
    of_s = -(seen - 1) * log_s - seen * spread**2 / 2 * np.exp(-2 * log_s)
    total: Floats = of_s[:, None] - seen / 2 * z**2
    for end, count in zip(ends, counts, strict=True):
        total = total + count * special.log_ndtr(z - end * np.exp(-log_s)[:, None])
    return total


def _around(points: Floats, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[float, float]:
    """The range of the points inside, and one more on either side."""
    places = np.flatnonzero(inside)
    step = points[1] - points[0]
    return float(points[places[0]] - step), float(points[places[-1]] + step)


def _quantiles(values: Floats, weights: Floats) -> tuple[float, ...]:
    """The median and the ends of the 95% interval."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return tuple(float(end) for end in np.interp(TAILS, below, values[order]))
