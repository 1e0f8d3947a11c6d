"""Curves of the reward against the step, by variable projection.

R = level + size * f(t; shape) is linear in level and size: for every shape of a grid their best
values are a projection, so that only the shape is searched, on a coarse grid and then on a finer
one between the neighbours of its best. No start values, no iteration that may fail to converge.
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
"""Steps at which the sigmoid is half way, in lengths of the run."""
STEEPNESSES = np.geomspace(0.5, 12.0, 8)
SWEEPS = 16
"""Sets of steps whose coarse grids are kept: the runs of a sweep have the same."""
FINER_KEPT = 256
"""Finer grids that are kept, 26 KB each at most: runs of the same steps often share the best."""
FINER = 9
"""Points of the finer grid between two neighbours of the coarse one, along each axis."""


def _between_neighbours(grid: Floats) -> Floats:
    """For each point of a grid a finer one, geometric. Shape (len(grid), FINER)."""
    padded = np.pad(grid, 1, mode="edge")
    return np.geomspace(padded[:-2], padded[2:], FINER, axis=1)


FINER_DURATIONS = _between_neighbours(DURATIONS)
FINER_MIDPOINTS = _between_neighbours(MIDPOINTS)
FINER_STEEPNESSES = _between_neighbours(STEEPNESSES)


@dataclass(frozen=True)
class _Curves:
    """One curve a shape, and what fitting the first `fitted` points by any of them takes."""

    columns: Floats
    """Shape (C, K)."""
    fitted: int
    flat: NDArray[np.bool_]
    """Whether a curve does not move on those points. Shape (C,)."""
    power: Floats
    """Sum of squares of those points around their mean; 1 where flat. Shape (C,)."""


def saturating(time: Floats, reward: Floats, fitted: int) -> Floats:
    """1 - exp(-t/tau), tau the best for the first `fitted` points; shapes (K,), time above 0."""
    steps = time.tobytes()
    at = _best(_coarse_exponentials(steps, fitted), reward)
    return _chosen(_finer_exponentials(steps, fitted, at), reward)


def sigmoid(time: Floats, reward: Floats, fitted: int) -> Floats:
    """1 / (1 + (m/t)^B), as saturating(); in compute: arXiv 2510.13786, equation 1."""
    steps = time.tobytes()
    at, steep = divmod(_best(_coarse_sigmoids(steps, fitted), reward), len(STEEPNESSES))
    return _chosen(_finer_sigmoids(steps, fitted, at, steep), reward)


StepForm = Callable[[Floats, Floats, int], Floats]
STEP_FORMS: dict[str, StepForm] = {"saturating": saturating, "sigmoid": sigmoid}


@lru_cache(maxsize=SWEEPS)
def _coarse_exponentials(time: bytes, fitted: int) -> _Curves:
    return _curves(_exponentials(np.frombuffer(time), DURATIONS), fitted)


@lru_cache(maxsize=SWEEPS)
def _coarse_sigmoids(time: bytes, fitted: int) -> _Curves:
    return _curves(_sigmoids(np.frombuffer(time), MIDPOINTS, STEEPNESSES), fitted)


@lru_cache(maxsize=FINER_KEPT)
def _finer_exponentials(time: bytes, fitted: int, at: int) -> _Curves:
    return _curves(_exponentials(np.frombuffer(time), FINER_DURATIONS[at]), fitted)


@lru_cache(maxsize=FINER_KEPT)
def _finer_sigmoids(time: bytes, fitted: int, at: int, steep: int) -> _Curves:
    finer = _sigmoids(np.frombuffer(time), FINER_MIDPOINTS[at], FINER_STEEPNESSES[steep])
    return _curves(finer, fitted)


def _exponentials(time: Floats, durations: Floats) -> Floats:
    columns: Floats = -np.expm1(-time / durations[:, None])
    return columns


def _sigmoids(time: Floats, midpoints: Floats, steepnesses: Floats) -> Floats:
    """Midpoints vary slowest. Shape (midpoints * steepnesses, K)."""
    apart = np.log(midpoints)[:, None, None] - np.log(time)
    columns: Floats = 1 / (1 + np.exp(steepnesses[:, None] * apart))
    return columns.reshape(-1, len(time))


def _curves(columns: Floats, fitted: int) -> _Curves:
    seen = columns[:, :fitted]
    power = np.einsum("ck,ck->c", seen, seen) - fitted * numbers.row_means(seen)[:, 0] ** 2
    flat = power <= 1e-12 * fitted
    return _Curves(columns, fitted, flat, np.where(flat, 1.0, power))


def _chosen(curves: _Curves, reward: Floats) -> Floats:
    chosen: Floats = curves.columns[_best(curves, reward)]
    return chosen


def _best(curves: _Curves, reward: Floats) -> int:
    """The index of the curve that explains most of the fitted rewards, with a level of its own."""
    along = curves.columns[:, : curves.fitted] @ numbers.centred(reward[: curves.fitted])
    return int(np.argmax(np.where(curves.flat, 0.0, along**2 / curves.power)))
