"""Estimates with their 95% intervals, and the arrays that they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bounded:
    """An estimate whose 95% interval may be unknown."""

    value: float
    low: float | None
    high: float | None
