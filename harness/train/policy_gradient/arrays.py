"""Helpers for formulas that are written once for numpy and torch.

The tabular policy learns in numpy's float64, a language model in torch's float32 on its device. A
formula takes its functions from `namespace(x)`. This file covers what the two libraries name
differently.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A numpy array or a torch tensor; all arrays of one call are of the same kind."""


def namespace(array: Array) -> Any:
    """Return the module, numpy or torch, that `array` belongs to."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def sums_by(values: Array, owner: Array, owners: int) -> Array:
    """Return the sum of each owner's values, shape (owners,).

    `owner`: the owner of each value, numbered from 0, in the shape of `values`.
    """
    if isinstance(values, np.ndarray):
        return np.bincount(owner, weights=values, minlength=owners)
    return values.new_zeros(owners).index_add_(0, owner, values)
