"""Fit curves of the reward against the step by variable projection.

R = level + size * f(t; shape) is linear in level and size, whose best values are a projection for
any shape. Only the shape is searched, on a coarse grid and then on a finer grid around the best
point. This needs no start values and cannot fail to converge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.law.estimate import numbers
from harness.law.results import Floats

DURATIONS = np.geomspace(0.01, 10.0, 60)
"""Time constants of the saturating exponential, in lengths of the run."""
MIDPOINTS = np.geomspace(0.01, 10.0, 40)
"""Midpoints of the sigmoid, in lengths of the run."""
STEEPNESSES = np.geomspace(0.5, 12.0, 8)
SWEEPS = 16
"""Cache size for coarse grids, one per set of steps: the runs of a sweep have the same steps."""
FINER_KEPT = 256
"""Cache size for finer grids, at most 26 KB each: runs with the same steps often share them."""
FINER = 9
"""Points of the finer grid along each axis, between the two neighbours of a coarse point."""


def _between_neighbours(grid: Floats) -> Floats:
    """Return a geometric grid around each point of a grid. Shape (len(grid), FINER)."""
    padded = np.pad(grid, 1, mode="edge")
    return np.geomspace(padded[:-2], padded[2:], FINER, axis=1)


FINER_DURATIONS = _between_neighbours(DURATIONS)
FINER_MIDPOINTS = _between_neighbours(MIDPOINTS)
FINER_STEEPNESSES = _between_neighbours(STEEPNESSES)


@dataclass(frozen=True)
class _Curves:
    """The curves of a grid of shapes, with the sums needed to fit the first `fitted` points."""

    columns: Floats
    """The curves, shape (C, K)."""
    fitted: int
    flat: NDArray[np.bool_]
    """Whether a curve is constant on the fitted points. Shape (C,)."""
    power: Floats
    """Centred sum of squares of each curve on the fitted points; 1 where flat. Shape (C,)."""


def saturating(time: Floats, reward: Floats, fitted: int) -> Floats:
    """Return 1 - exp(-t/tau) with the tau that fits the first `fitted` points best.

    Arrays have shape (K,), and time is above 0.
    """
    steps = time.tobytes()
    index = _best(_coarse_exponentials(steps, fitted), reward)
    return _best_curve(_finer_exponentials(steps, fitted, index), reward)


def sigmoid(time: Floats, reward: Floats, fitted: int) -> Floats:
    """Return the best 1 / (1 + (m/t)^B), arguments as in `saturating`.

    The curve in compute instead of steps: arXiv 2510.13786, equation 1.
    """
    steps = time.tobytes()
    midpoint, steepness = divmod(_best(_coarse_sigmoids(steps, fitted), reward), len(STEEPNESSES))
    return _best_curve(_finer_sigmoids(steps, fitted, midpoint, steepness), reward)


StepForm = Callable[[Floats, Floats, int], Floats]
STEP_FORMS: dict[str, StepForm] = {"saturating": saturating, "sigmoid": sigmoid}


@lru_cache(maxsize=SWEEPS)
def _coarse_exponentials(time: bytes, fitted: int) -> _Curves:
    return _curves(_exponentials(np.frombuffer(time), DURATIONS), fitted)


@lru_cache(maxsize=SWEEPS)
def _coarse_sigmoids(time: bytes, fitted: int) -> _Curves:
    return _curves(_sigmoids(np.frombuffer(time), MIDPOINTS, STEEPNESSES), fitted)


@lru_cache(maxsize=FINER_KEPT)
def _finer_exponentials(time: bytes, fitted: int, index: int) -> _Curves:
    return _curves(_exponentials(np.frombuffer(time), FINER_DURATIONS[index]), fitted)


@lru_cache(maxsize=FINER_KEPT)
def _finer_sigmoids(time: bytes, fitted: int, midpoint: int, steepness: int) -> _Curves:
    finer = _sigmoids(np.frombuffer(time), FINER_MIDPOINTS[midpoint], FINER_STEEPNESSES[steepness])
    return _curves(finer, fitted)


def _exponentials(time: Floats, durations: Floats) -> Floats:
    columns: Floats = -np.expm1(-time / durations[:, None])
    return columns


def _sigmoids(time: Floats, midpoints: Floats, steepnesses: Floats) -> Floats:
    """Return all sigmoids, midpoints varying slowest. Shape (midpoints * steepnesses, K)."""
    log_ratios = np.log(midpoints)[:, None, None] - np.log(time)
    columns: Floats = 1 / (1 + np.exp(steepnesses[:, None] * log_ratios))
    return columns.reshape(-1, len(time))


def _curves(columns: Floats, fitted: int) -> _Curves:
    fitted_columns = columns[:, :fitted]
    power = (
        np.einsum("ck,ck->c", fitted_columns, fitted_columns)
        - fitted * numbers.row_means(fitted_columns)[:, 0] ** 2
    )
    flat = power <= 1e-12 * fitted
    return _Curves(columns, fitted, flat, np.where(flat, 1.0, power))


def _best_curve(curves: _Curves, reward: Floats) -> Floats:
    curve: Floats = curves.columns[_best(curves, reward)]
    return curve


def _best(curves: _Curves, reward: Floats) -> int:
    """Return the index of the curve whose best level and size fit the rewards best."""
    products = curves.columns[:, : curves.fitted] @ numbers.centred(reward[: curves.fitted])
    return int(np.argmax(np.where(curves.flat, 0.0, products**2 / curves.power)))
