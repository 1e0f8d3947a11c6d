"""CSV as a sink: a text cell never starts a formula in a spreadsheet; a number stays a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.utils.safe_text import visible

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What spreadsheets take for a formula; the last four are the full-width = + - @."""


def cell(value: Any) -> str:
    """One cell. None is empty; text that a spreadsheet would run gets a leading apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else repr(value)
    text = visible(str(value))
    return f"'{text}" if str(value).lstrip(" ").startswith(FORMULA_STARTS) else text


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and one line a row; a row without a column leaves its cell empty.

    Raises ValueError for a row with a value that no column is for: it would be lost.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()
