"""Continuous piecewise lines: every knot, and every pair of knots, at once in closed form.

With hinge columns h_k = (t - k)+ residualised on [1, t], A = H'MH and C = y'MH, one knot lowers
the sum of squares by C_k^2 / A_kk and two by (C_i^2 A_jj - 2 C_i C_j A_ij + C_j^2 A_ii) /
(A_ii A_jj - A_ij^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law import estimate
from harness.law.results import Floats

EDGE = 2
"""Bins on either side of a knot, and between two, that a slope needs at least."""


@dataclass(frozen=True)
class Knots:
    """The best fit with one or two knots, by bin index."""

    at: tuple[int, ...]
    slopes: tuple[float, ...]
    """Of each piece, per run (t runs from 0 to 1)."""
    f: float
    """Against a straight line, deflated by the residuals' autocorrelation."""
    first_knot: Floats
    """SSR with the first knot at bin k, the rest at their best; inf where none may be. (K,)"""
    tau: float
    """(1 + rho) / (1 - rho) of the residuals."""


@lru_cache(maxsize=128)
def _basis(bins: int) -> tuple[Floats, Floats, Floats]:
    """Time in [0, 1], the hinges residualised on a line (K, K), and their products (K, K)."""
    t = (np.arange(bins) + 0.5) / bins
    line, _ = np.linalg.qr(np.stack([np.ones(bins), t], axis=1))
    hinges = np.maximum(t[:, None] - t[None, :], 0.0)
    hinges -= line @ (line.T @ hinges)
    return t, hinges, hinges.T @ hinges


def one_knot(y: Floats) -> Knots:
    """y of shape (K,), K >= 8."""
    t, hinges, products = _basis(len(y))
    gain = np.full(len(y), -np.inf)
    inner = np.arange(EDGE, len(y) - EDGE)
    gain[inner] = (y @ hinges)[inner] ** 2 / np.diag(products)[inner]
    return _knots(y, t, (int(np.argmax(gain)),), gain)


def two_knots(y: Floats) -> Knots:
    """y of shape (K,), K >= 8."""
    t, hinges, products = _basis(len(y))
    c, diagonal = y @ hinges, np.diag(products)
    above = (
        c[:, None] ** 2 * diagonal[None, :]
        - 2 * c[:, None] * c[None, :] * products
        + c[None, :] ** 2 * diagonal[:, None]
    )
    below = diagonal[:, None] * diagonal[None, :] - products**2
    gain = np.where(_allowed(len(y)), above / np.where(below > 1e-15, below, np.inf), -np.inf)
    first, second = np.unravel_index(int(np.argmax(gain)), gain.shape)
    return _knots(y, t, (int(first), int(second)), gain.max(axis=1))


def slopes_around(y: Floats, knot: int) -> tuple[float, float]:
    """Of the broken line through y with its knot at that bin: before and after, per run."""
    _, slopes = _broken(y, _basis(len(y))[0], (knot,))
    return slopes[0], slopes[1]


@lru_cache(maxsize=128)
def _allowed(bins: int) -> np.ndarray:
    index = np.arange(bins)
    inner = (index >= EDGE) & (index < bins - EDGE)
    apart = index[None, :] - index[:, None] >= EDGE
    return inner[:, None] & inner[None, :] & apart


def _straight_ssr(y: Floats, t: Floats) -> float:
    design = np.stack([np.ones_like(t), t], axis=1)
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)


def _knots(y: Floats, t: Floats, at: tuple[int, ...], gain: Floats) -> Knots:
    """`gain`: what the first knot at each bin takes off the SSR of the straight line."""
    left, slopes = _broken(y, t, at)
    rho = estimate.lag1(left)
    tau = (1 + rho) / (1 - rho)
    parameters = 2 * len(at)
    freedom = max(len(y) - 2 - parameters, 1)
    ssr = max(float(left @ left), 1e-300)
    straight = _straight_ssr(y, t)
    f = (straight - ssr) / parameters / (ssr / freedom) / tau
    return Knots(at, slopes, max(f, 0.0), np.maximum(straight - gain, ssr), tau)


def _broken(y: Floats, t: Floats, at: tuple[int, ...]) -> tuple[Floats, tuple[float, ...]]:
    """Least squares with those knots: what it leaves, and the slope of each piece."""
    columns = [np.ones_like(t), t, *(np.maximum(t - t[k], 0.0) for k in at)]
    design = np.stack(columns, axis=1)
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    slopes = tuple(float(s) for s in np.cumsum(weights[1:]))
    return y - design @ weights, slopes
