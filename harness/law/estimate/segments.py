"""Continuous piecewise lines: every knot, and every pair of knots, at once in closed form.

With hinge columns h_k = (t - k)+ residualised on [1, t], A = H'MH and C = y'MH, one knot lowers
the sum of squares by C_k^2 / A_kk and two by (C_i^2 A_jj - 2 C_i C_j A_ij + C_j^2 A_ii) /
(A_ii A_jj - A_ij^2). At its knots the slope changes by A^-1 C.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.law.estimate import estimate
from harness.law.results import Floats

EDGE = 2
"""Bins on either side of a knot, and between two, that a slope needs at least."""


@dataclass(frozen=True)
class Knots:
    """The best fit with one or two knots, by bin index."""

    at: tuple[int, ...]
    slopes: tuple[float, ...]
    """Slope of each piece, per run (t runs from 0 to 1)."""
    f: float
    """Against a straight line, deflated by the residuals' autocorrelation."""
    first_knot: Floats
    """SSR with the first knot at bin k and the second where it is; inf where none may be. (K,)

    Were the second free at each k, it would take over the bend that the first leaves, and the first
    could wander over the whole run.
    """
    tau: float
    """(1 + rho) / (1 - rho) of the residuals."""


@dataclass(frozen=True)
class _Basis:
    """The matrices that fits to K equal bins share."""

    line: Floats
    """Orthonormal basis of the straight lines. Shape (K, 2)."""
    hinges: Floats
    """(t - k)+ of a knot at each bin k, without the straight line in it. Shape (K, K)."""
    slopes: Floats
    """Slopes of those straight lines. Shape (K,)."""
    products: Floats
    """A. Shape (K, K)."""
    diagonal: Floats
    """The diagonal of A. Shape (K,)."""
    determinants: Floats
    """The determinant of A of each two knots, inf where they are hardly two. Shape (K, K)."""


@lru_cache(maxsize=128)
def _basis(bins: int) -> _Basis:
    t = (np.arange(bins) + 0.5) / bins
    line, _ = np.linalg.qr(np.stack([np.ones(bins), t], axis=1))
    hinges, slopes = _straightened(np.maximum(t[:, None] - t[None, :], 0.0), line)
    products = hinges.T @ hinges
    diagonal = np.diag(products)
    determinants = diagonal[:, None] * diagonal[None, :] - products**2
    determinants = np.where(determinants > 1e-15, determinants, np.inf)
    return _Basis(line, hinges, slopes, products, diagonal, determinants)


def one_knot(y: Floats) -> Knots:
    """y of shape (K,), K >= 8."""
    basis = _basis(len(y))
    gain = np.full(len(y), -np.inf)
    inner = slice(EDGE, len(y) - EDGE)
    gain[inner] = (y @ basis.hinges)[inner] ** 2 / basis.diagonal[inner]
    return _knots(y, (int(np.argmax(gain)),), gain)


def two_knots(y: Floats) -> Knots:
    """y of shape (K,), K >= 8."""
    basis = _basis(len(y))
    c, diagonal = y @ basis.hinges, basis.diagonal
    above = (
        c[:, None] ** 2 * diagonal[None, :]
        - 2 * c[:, None] * c[None, :] * basis.products
        + c[None, :] ** 2 * diagonal[:, None]
    )
    gain = np.where(_allowed(len(y)), above / basis.determinants, -np.inf)
    first, second = np.unravel_index(int(np.argmax(gain)), gain.shape)
    return _knots(y, (int(first), int(second)), gain[:, second])


def slopes_around(y: Floats, knot: int) -> tuple[float, float]:
    """Slopes of the broken line through y with its knot at that bin: before and after, per run."""
    *_, slopes = _broken(y, (knot,))
    return slopes[0], slopes[1]


@lru_cache(maxsize=128)
def _allowed(bins: int) -> np.ndarray:
    index = np.arange(bins)
    inner = (index >= EDGE) & (index < bins - EDGE)
    apart = index[None, :] - index[:, None] >= EDGE
    return inner[:, None] & inner[None, :] & apart


def _knots(y: Floats, at: tuple[int, ...], gain: Floats) -> Knots:
    """`gain`: what the first knot at each bin takes off the SSR of the straight line."""
    unbent, left, slopes = _broken(y, at)
    rho = estimate.lag1(left)
    tau = (1 + rho) / (1 - rho)
    parameters = 2 * len(at)
    freedom = max(len(y) - 2 - parameters, 1)
    ssr = max(float(left @ left), 1e-300)
    straight = float(unbent @ unbent)
    f = (straight - ssr) / parameters / (ssr / freedom) / tau
    return Knots(at, slopes, max(f, 0.0), np.maximum(straight - gain, ssr), tau)


def _broken(y: Floats, at: tuple[int, ...]) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Residuals of a straight line, residuals of least squares with those knots, and the slope of
    each of its pieces.
    """
    basis, knots = _basis(len(y)), list(at)
    hinges = basis.hinges[:, knots]
    changes = np.linalg.solve(basis.products[knots][:, knots], y @ hinges)
    unbent, slope = _straightened(y, basis.line)
    first = slope - basis.slopes[knots] @ changes
    slopes = (float(first), *(first + np.cumsum(changes)).tolist())
    return unbent, unbent - hinges @ changes, slopes


def _straightened(y: Floats, line: Floats) -> tuple[Floats, Floats]:
    """Residuals of a straight line through y (each of its columns), and its slope per run."""
    fit = line @ (line.T @ y)
    return y - fit, (fit[-1] - fit[0]) * len(y) / (len(y) - 1)
