"""Read CSV with a header and one line per row."""

from __future__ import annotations

import contextlib
import csv

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = "must have a header and rows with the same number of fields"
OTHER_SEPARATORS = (";", "\t", "|")
NOTHING = ("", "null", "None", "NULL", "NA")


def rows(data: bytes) -> Rows:
    """Read the lines with as many fields as the header. All other lines are damage.

    Each line is read by itself, so that a stray quote does not consume the rest of the file. A last
    line without a line end is accepted if it has all fields, because many programs omit the end.
    With fewer fields it is torn. A last number cut short, 0.35 to 0.3, cannot be detected.
    """
    lines = data.split(b"\n")
    names = header(data)
    parsed: list[Row] = []
    row_lines, malformed = [], []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        parts = fields(line)
        if parts is None or len(parts) != len(names):
            malformed.append(number)
            continue
        parsed.append(dict(zip(names, map(_value, parts), strict=True)))
        row_lines.append(number)
    torn = malformed.pop() if malformed[-1:] == [len(lines)] else None
    return Rows(parsed, row_lines, damaged(malformed, torn), RULE, scattered=False)


def header(data: bytes) -> list[str]:
    """Return the column names, including repeated ones."""
    return fields(data.partition(b"\n")[0]) or []


def other_separator(data: bytes) -> str | None:
    """Return the separator that a header with a single field seems to use, else None.

    Such files are refused, because ';' often comes with decimal commas.
    """
    names = header(data)
    if len(names) != 1:
        return None
    return next((separator for separator in OTHER_SEPARATORS if separator in names[0]), None)


def fields(line: bytes) -> list[str] | None:
    """Return the stripped fields of one line; None if it is no CSV."""
    with contextlib.suppress(ValueError, csv.Error, StopIteration):
        cells = next(csv.reader([line.decode("utf-8").rstrip("\r")], strict=True))
        return [field.strip() for field in cells]
    return None


def _value(field: str) -> float | str | None:
    if field in NOTHING:
        return None
    with contextlib.suppress(ValueError):
        return float(field) if "_" not in field else field
    return field
