"""95% intervals that cover under autocorrelated noise: the wider of two, with their covariance.

One is a delete-one-block jackknife over time blocks (CV3: MacKinnon, Nielsen, Webb 2023; few
fixed blocks: Bester, Conley, Hansen 2011), the other the sandwich of an AR(1) with the
residuals' lag-1 correlation.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from harness.law.estimate import binning, estimate, numbers
from harness.law.estimate.estimate import Line
from harness.law.results import Floats, Interval


@dataclass(frozen=True)
class Spread:
    """How sure a line is. Half-widths are of 95% intervals."""

    a: Interval
    b: Interval
    ceiling: Interval
    cov_ab: float
    n_eff: float
    """n / tau: how many independent points the run is worth."""


def half_width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def spread(line: Line) -> Spread | None:
    """None if there are too few points for any interval."""
    n = len(line.x)
    rho = estimate.lag1(line.residuals)
    tau = (1 + rho) / (1 - rho)
    if n < 4:
        return None
    jack, groups = _jackknife(line, tau)
    sandwich = _sandwich(line, rho, tau)
    t_jack = numbers.t_quantile(0.975, groups - 1)
    t_sandwich = numbers.t_quantile(0.975, max(n / tau - 2, 1))
    widths = np.maximum(t_jack * _errors(jack), t_sandwich * _errors(sandwich))
    wider = jack if t_jack**2 * jack[0, 0] >= t_sandwich**2 * sandwich[0, 0] else sandwich
    values = (line.a, line.b, line.ceiling)
    a, b, c = (Interval(v, v - w, v + w) for v, w in zip(values, map(float, widths), strict=True))
    return Spread(a, b, c, float(wider[0, 1]), n / tau)


def _errors(covariance: Floats) -> Floats:
    """Standard errors of a, b and the ceiling b - a, from the 2 x 2 covariance of a and b."""
    (aa, ab), (_, bb) = covariance
    return np.sqrt(np.maximum([aa, bb, aa + bb - 2 * ab], 0.0))


def _jackknife(line: Line, tau: float) -> tuple[Floats, int]:
    """Covariance of (a, b) from refits without one time block each, and how many blocks."""
    n = len(line.x)
    groups = min(max(6, min(round(n / (4 * tau)), 8)), n)
    edges = np.searchsorted(binning.labels(n, groups), range(groups + 1))
    refits = [
        estimate.through(_without(line.x, first, last), _without(line.reward, first, last))
        for first, last in itertools.pairwise(edges)
    ]
    found = np.array([(r.a, r.b) for r in refits if r is not None]).T
    if found.size < 6:
        return np.zeros((2, 2)), groups
    centred = found - numbers.row_means(found)
    covariance: Floats = (groups - 1) / groups * centred @ centred.T
    return covariance, groups


def _without(values: Floats, first: int, last: int) -> Floats:
    return np.concatenate((values[:first], values[last:]))


def _sandwich(line: Line, rho: float, tau: float) -> Floats:
    """Covariance of (a, b) if the errors of R are an AR(1) with lag-1 correlation rho."""
    n = len(line.x)
    weight_a = -line.z / (line.z @ line.x)
    weight_b = 1 / n + weight_a * numbers.mean(line.x)
    left = line.residuals
    inflation = max(1 - 2 * tau / n, 0.2)
    variance = float(left @ left) / (n - 2) / inflation
    weights = np.stack([weight_a, weight_b])
    carried = numbers.carried_on(weights, rho)
    cross = weights @ carried.T
    covariance: Floats = variance * (cross + cross.T - weights @ weights.T)
    return covariance
