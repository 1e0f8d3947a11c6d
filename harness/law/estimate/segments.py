"""Fit continuous piecewise lines with every knot and pair of knots at once, in closed form.

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
"""Smallest number of bins on either side of a knot, and between two knots."""


@dataclass(frozen=True)
class Knots:
    """The best fit with one or two knots."""

    at: tuple[int, ...]
    """Bin index of each knot."""
    slopes: tuple[float, ...]
    """Slope of each piece, per run (t runs from 0 to 1)."""
    f: float
    """F against a straight line, deflated by the residuals' autocorrelation."""
    first_knot: Floats
    """SSR with the first knot at bin k and the second fixed; inf if k is not allowed. Shape (K,).

    If the second knot were free for each k, it could take over the bend at the first, and the
    profile of the first would be flat.
    """
    tau: float
    """(1 + rho) / (1 - rho) of the residuals."""


@dataclass(frozen=True)
class _Basis:
    """The matrices shared by all fits to K equal bins."""

    line: Floats
    """Orthonormal basis of the straight lines. Shape (K, 2)."""
    hinges: Floats
    """(t - k)+ for a knot at each bin k, minus its straight-line fit. Shape (K, K)."""
    slopes: Floats
    """Slopes of the subtracted straight lines. Shape (K,)."""
    products: Floats
    """A. Shape (K, K)."""
    diagonal: Floats
    """The diagonal of A. Shape (K,)."""
    determinants: Floats
    """The determinant of A for each pair of knots; inf if A is nearly singular. Shape (K, K)."""


@lru_cache(maxsize=128)
def _basis(bins: int) -> _Basis:
    t = (np.arange(bins) + 0.5) / bins
    line, _ = np.linalg.qr(np.stack([np.ones(bins), t], axis=1))
    hinges, slopes = _subtract_line(np.maximum(t[:, None] - t[None, :], 0.0), line)
    products = hinges.T @ hinges
    diagonal = np.diag(products)
    determinants = diagonal[:, None] * diagonal[None, :] - products**2
    determinants = np.where(determinants > 1e-15, determinants, np.inf)
    return _Basis(line, hinges, slopes, products, diagonal, determinants)


def one_knot(y: Floats) -> Knots:
    """Return the best fit with one knot to y of shape (K,), K >= 8."""
    basis = _basis(len(y))
    gain = np.full(len(y), -np.inf)
    inner = slice(EDGE, len(y) - EDGE)
    gain[inner] = (y @ basis.hinges)[inner] ** 2 / basis.diagonal[inner]
    return _knots(y, (int(np.argmax(gain)),), gain)


def two_knots(y: Floats) -> Knots:
    """Return the best fit with two knots to y of shape (K,), K >= 8."""
    basis = _basis(len(y))
    c, diagonal = y @ basis.hinges, basis.diagonal
    numerator = (
        c[:, None] ** 2 * diagonal[None, :]
        - 2 * c[:, None] * c[None, :] * basis.products
        + c[None, :] ** 2 * diagonal[:, None]
    )
    gain = np.where(_allowed_pairs(len(y)), numerator / basis.determinants, -np.inf)
    first, second = np.unravel_index(int(np.argmax(gain)), gain.shape)
    return _knots(y, (int(first), int(second)), gain[:, second])


def slopes_around(y: Floats, knot: int) -> tuple[float, float]:
    """Return the slopes of y before and after a knot at that bin, per run, by least squares."""
    *_, slopes = _piecewise_fit(y, (knot,))
    return slopes[0], slopes[1]


@lru_cache(maxsize=128)
def _allowed_pairs(bins: int) -> np.ndarray:
    index = np.arange(bins)
    inner = (index >= EDGE) & (index < bins - EDGE)
    spaced = index[None, :] - index[:, None] >= EDGE
    return inner[:, None] & inner[None, :] & spaced


def _knots(y: Floats, knots: tuple[int, ...], gain: Floats) -> Knots:
    """Compute slopes and F of a fit. `gain`: reduction of the straight line's SSR by the first knot
    at each bin.
    """
    line_residuals, residuals, slopes = _piecewise_fit(y, knots)
    rho = estimate.lag1(residuals)
    tau = (1 + rho) / (1 - rho)
    parameters = 2 * len(knots)
    df = max(len(y) - 2 - parameters, 1)
    ssr = max(float(residuals @ residuals), 1e-300)
    line_ssr = float(line_residuals @ line_residuals)
    f = (line_ssr - ssr) / parameters / (ssr / df) / tau
    return Knots(knots, slopes, max(f, 0.0), np.maximum(line_ssr - gain, ssr), tau)


def _piecewise_fit(y: Floats, knots: tuple[int, ...]) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Return the residuals of a straight line, the residuals of least squares with the `knots`,
    and the slope of each piece.
    """
    basis, indices = _basis(len(y)), list(knots)
    hinges = basis.hinges[:, indices]
    changes = np.linalg.solve(basis.products[indices][:, indices], y @ hinges)
    line_residuals, slope = _subtract_line(y, basis.line)
    first = slope - basis.slopes[indices] @ changes
    slopes = (float(first), *(first + np.cumsum(changes)).tolist())
    return line_residuals, line_residuals - hinges @ changes, slopes


def _subtract_line(y: Floats, line: Floats) -> tuple[Floats, Floats]:
    """Return the residuals of a straight line through y (or each column), and its slope per run."""
    fit = line @ (line.T @ y)
    return y - fit, (fit[-1] - fit[0]) * len(y) / (len(y) - 1)
