"""The quick way through a file without damage: a few named columns of JSON lines, by pyarrow.

It answers only where the tolerant reader would give the same, and else gives up: at a byte that
is not ASCII, a last line without its end, a value that is no number, a blank line, an infinity
(which pyarrow also takes in spellings that are not JSON's).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import json as arrow_json

from harness.law.results import Floats

FAULTS = ("", "null", "nan", "infinite", "wrong_type")
"""What can stand where a finite number should; the code of each is its index."""


@dataclass(frozen=True)
class Columns:
    """Column -> values (NaN without a number) and fault codes, shape (rows,); keys of row 1."""

    values: Mapping[str, Floats]
    faults: Mapping[str, NDArray[np.int8]]
    names: tuple[str, ...]


def columns(data: bytes, wanted: Sequence[str]) -> Columns | None:
    """None where only the tolerant reader can tell."""
    if not data.endswith(b"\n") or not data.isascii() or b"\0" in data or b"Inf" in data:
        return None
    names = _names(data[: data.index(b"\n")])
    if names is None or any(_appears_later(data, name) for name in wanted if name not in names):
        return None
    table = _table(data, wanted)
    if table is None or table.num_rows != data.count(b"\n"):
        return None
    values, faults = {}, {}
    for name in wanted:
        values[name], faults[name] = _column(table.column(name).combine_chunks())
    overflowed = any(np.isinf(column).any() for column in values.values())
    return None if overflowed else Columns(values, faults, names)


def _names(line: bytes) -> tuple[str, ...] | None:
    with contextlib.suppress(ValueError, RecursionError):
        row = json.loads(line)
        return tuple(row) if isinstance(row, dict) else None
    return None


def _appears_later(data: bytes, name: str) -> bool:
    return json.dumps(name).encode() in data


def _table(data: bytes, wanted: Sequence[str]) -> pa.Table | None:
    parsing = arrow_json.ParseOptions(
        explicit_schema=pa.schema([(name, pa.float64()) for name in wanted]),
        unexpected_field_behavior="ignore",
    )
    with contextlib.suppress(pa.ArrowInvalid):
        reading = arrow_json.ReadOptions(use_threads=False)
        return arrow_json.read_json(pa.BufferReader(data), reading, parsing)
    return None


def _column(column: pa.Array) -> tuple[Floats, NDArray[np.int8]]:
    null = column.is_null().to_numpy(zero_copy_only=False)
    values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=True)
    faults = np.zeros(len(values), np.int8)
    faults[np.isnan(values)] = FAULTS.index("nan")
    faults[null] = FAULTS.index("null")
    values[faults > 0] = np.nan
    return values, faults
