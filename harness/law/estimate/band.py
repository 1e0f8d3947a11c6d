"""How sure the law is at one H, from the intervals of a, b and the ceiling."""

from __future__ import annotations

import numpy as np

from harness.law.estimate.interval import half_width
from harness.law.results import Floats, Interval


def half_widths(a: Interval, b: Interval, ceiling: Interval, x: Floats) -> Floats:
    """Pointwise 95% half-width of b - a*x, x = exp(H). Shape of `x`.

    The variance of b - a*x is quadratic in x. The one quadratic that gives the printed
    half-widths w of b (x = 0), of the ceiling b - a (x = 1) and of a (the slope) is
    w_b^2 (1 - x) + w_a^2 x (x - 1) + w_c^2 x. It is exact where all three intervals come from one
    covariance; each is the wider of two, so they may not.
    """
    w_a, w_b, w_c = half_width(a), half_width(b), half_width(ceiling)
    square = w_b**2 * (1 - x) + w_a**2 * x * (x - 1) + w_c**2 * x
    return np.sqrt(np.maximum(square, 0.0))
