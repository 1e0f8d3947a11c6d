"""Formulas that are written once for numpy and for torch.

The tabular policy learns in numpy's float64, a language model in torch's float32 on its device. A
formula takes its functions from `namespace(x)`; what the two libraries name differently is here.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A numpy array, or a torch tensor: all arrays of one call are of the same kind."""


def namespace(array: Array) -> Any:
    """numpy or torch, whichever `array` is of."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def sums_by(values: Array, owner: Array, owners: int) -> Array:
    """The sum of the values of each owner, shape (owners,).

    `owner`: whose each value is, from 0, integers of the shape of `values`.
    """
    if isinstance(values, np.ndarray):
        return np.bincount(owner, weights=values, minlength=owners)
    return values.new_zeros(owners).index_add_(0, owner, values)
