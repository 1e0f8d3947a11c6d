"""What stands where a number should: a finite one, or the name of what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.law.results import Floats

FAULTS = ("", "null", "nan", "infinite", "wrong_type")
"""What can stand where a finite number should; the code of each is its index."""
Codes = NDArray[np.int8]


def column(values: Sequence[Any]) -> tuple[Floats, Codes]:
    """Values (NaN where there is no finite number) and fault codes, shape (rows,)."""
    numbers = np.full(len(values), np.nan)
    faults = np.zeros(len(values), np.int8)
    for index, value in enumerate(values):
        number = _number(value)
        if isinstance(number, str):
            faults[index] = FAULTS.index(number)
        else:
            numbers[index] = number
    return numbers, faults


def nothing(count: int) -> tuple[Floats, Codes]:
    """The same of a column that is not there."""
    return np.full(count, np.nan), np.full(count, FAULTS.index("null"), np.int8)


def columns(
    rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]
) -> tuple[dict[str, Floats], dict[str, Codes]]:
    """Each of the columns `wanted`: values, and fault codes."""
    found = {name: column([row.get(name) for row in rows]) for name in wanted}
    return {n: v for n, (v, _) in found.items()}, {n: f for n, (_, f) in found.items()}


def of_arrow(column: pa.ChunkedArray) -> tuple[Floats, Codes]:
    """The same of a column of numbers, which may hold nothing, NaN and infinities."""
    whole = column.combine_chunks()
    numbers = whole.to_numpy(zero_copy_only=False).astype(np.float64, copy=True)
    faults = np.zeros(len(numbers), np.int8)
    if not whole.null_count and np.isfinite(numbers).all():
        return numbers, faults
    faults[np.isnan(numbers)] = FAULTS.index("nan")
    faults[np.isinf(numbers)] = FAULTS.index("infinite")
    faults[whole.is_null().to_numpy(zero_copy_only=False)] = FAULTS.index("null")
    numbers[faults > 0] = np.nan
    return numbers, faults


def _number(value: Any) -> float | str:
    """A finite float, or one of FAULTS."""
    if value is None:
        return "null"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "wrong_type"
    try:
        number = float(value)
    except OverflowError:
        return "infinite"
    if math.isnan(number):
        return "nan"
    return "infinite" if math.isinf(number) else number
