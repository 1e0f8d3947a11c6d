"""Curves of the reward against the step, by variable projection.

R = level + size * f(t; shape) is linear in level and size: for every shape of a grid their best
values are a projection, so that only the shape is searched, on a coarse grid and then on a finer
one between the neighbours of its best. No start values, no iteration that may fail to converge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.law.results import Floats

DURATIONS = np.geomspace(0.01, 10.0, 60)
"""Time constants of the saturating exponential, in lengths of the run."""
MIDPOINTS = np.geomspace(0.01, 10.0, 40)
"""Where the sigmoid is half way, in lengths of the run."""
STEEPNESSES = np.geomspace(0.5, 12.0, 8)
FINER = 9
"""Points of the finer grid between two neighbours of the coarse one, along each axis."""


def _between_neighbours(grid: Floats) -> Floats:
    """For each point of a grid a finer one, geometric. Shape (len(grid), FINER)."""
    padded = np.pad(grid, 1, mode="edge")
    return np.geomspace(padded[:-2], padded[2:], FINER, axis=1)


FINER_DURATIONS = _between_neighbours(DURATIONS)
FINER_MIDPOINTS = _between_neighbours(MIDPOINTS)
FINER_STEEPNESSES = _between_neighbours(STEEPNESSES)


def saturating(time: Floats, reward: Floats, fitted: int) -> Floats:
    """1 - exp(-t/tau), tau the best for the first `fitted` points; shapes (K,), time above 0."""
    at = _best(_exponentials(time, DURATIONS), reward, fitted)
    return _chosen(_exponentials(time, FINER_DURATIONS[at]), reward, fitted)


def sigmoid(time: Floats, reward: Floats, fitted: int) -> Floats:
    """1 / (1 + (m/t)^B), as saturating(); in compute: arXiv 2510.13786, equation 1."""
    coarse = _sigmoids(time, MIDPOINTS, STEEPNESSES)
    at, steep = divmod(_best(coarse, reward, fitted), len(STEEPNESSES))
    columns = _sigmoids(time, FINER_MIDPOINTS[at], FINER_STEEPNESSES[steep])
    return _chosen(columns, reward, fitted)


StepForm = Callable[[Floats, Floats, int], Floats]
STEP_FORMS: dict[str, StepForm] = {"saturating": saturating, "sigmoid": sigmoid}


def _exponentials(time: Floats, durations: Floats) -> Floats:
    columns: Floats = -np.expm1(-time / durations[:, None])
    return columns


def _sigmoids(time: Floats, midpoints: Floats, steepnesses: Floats) -> Floats:
    """Midpoints vary slowest. Shape (midpoints * steepnesses, K)."""
    apart = np.log(midpoints)[:, None, None] - np.log(time)
    columns: Floats = 1 / (1 + np.exp(steepnesses[:, None] * apart))
    return columns.reshape(-1, len(time))


def _chosen(columns: Floats, reward: Floats, fitted: int) -> Floats:
    chosen: Floats = columns[_best(columns, reward, fitted)]
    return chosen


def _best(columns: Floats, reward: Floats, fitted: int) -> int:
    """Which column explains most of the first `fitted` rewards, with a level of its own."""
    seen = columns[:, :fitted]
    moved = reward[:fitted] - reward[:fitted].mean()
    power = np.einsum("ck,ck->c", seen, seen) - fitted * seen.mean(axis=1) ** 2
    flat = power <= 1e-12 * fitted
    return int(np.argmax(np.where(flat, 0.0, (seen @ moved) ** 2 / np.where(flat, 1.0, power))))
