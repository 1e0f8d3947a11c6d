"""Read Parquet. A truncated file cannot be read, because its index is at its end."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from harness.law.io import table as tables
from harness.law.io.table import Codes, LogTable, ReadError
from harness.law.results import Floats

MAGIC = b"PAR1"


def table(path: Path, data: bytes, wanted: Sequence[str], step: str | None = None) -> LogTable:
    """Read the columns `wanted` and those with known names. Lines are row numbers, from 1.

    Raise ReadError with unreadable or empty_input.
    """
    try:
        file = parquet.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        names = tuple(file.schema_arrow.names)
        tables.refuse_repeats(str(path), names, wanted, step)
        log_names = tables.names_to_read(names, wanted, step)
        present = [name for name in dict.fromkeys(log_names.values()) if name in names]
        arrow_table = file.read(columns=present, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ReadError(
            "unreadable", f"{path}: must be a complete Parquet file: {reason}"
        ) from error
    if not file.metadata.num_rows:
        raise ReadError("empty_input", f"{path}: must hold one row a step, but is empty")
    missing = tables.no_numbers(file.metadata.num_rows)
    by_column = {
        column: _column(arrow_table, name) if name in present else missing
        for column, name in log_names.items()
    }
    rows = LogTable(
        path,
        np.arange(1, file.metadata.num_rows + 1),
        {column: numbers for column, (numbers, _) in by_column.items()},
        {column: faults for column, (_, faults) in by_column.items()},
        tuple(
            dict.fromkeys(
                (*names, *(column for column, name in log_names.items() if name in names))
            )
        ),
        {},
        {
            column: reprlib.repr(arrow_table[name][0].as_py())
            for column, name in log_names.items()
            if name in present
        },
    )
    return rows if tables.is_ours(names) else tables.join_rows(rows)


def _column(arrow_table: pa.Table, name: str) -> tuple[Floats, Codes]:
    column = arrow_table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return tables.as_numbers(column.to_pylist())
    return tables.arrow_numbers(column)
