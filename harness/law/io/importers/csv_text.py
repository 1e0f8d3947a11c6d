"""CSV with a header: one line a row, whatever stands in other columns."""

from __future__ import annotations

import contextlib
import csv

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = "must hold a header and one line of as many fields a row"
OTHER_SEPARATORS = (";", "\t", "|")
NOTHING = ("", "null", "None", "NULL", "NA")


def rows(data: bytes) -> Rows:
    """Lines with the header's number of fields; every other one is damage.

    Each line is read by itself, so that one stray quote does not swallow the rest. A last line
    without its end counts if it has all fields: many programs leave the end out. Of one with fewer
    it is said that it is torn; that a last number was cut within, 0.35 to 0.3, cannot be seen.
    """
    lines = data.split(b"\n")
    names = header(data)
    parsed: list[Row] = []
    places, malformed = [], []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        parts = fields(line)
        if parts is None or len(parts) != len(names):
            malformed.append(number)
            continue
        parsed.append(dict(zip(names, map(_value, parts), strict=True)))
        places.append(number)
    torn = malformed.pop() if malformed[-1:] == [len(lines)] else None
    return Rows(parsed, places, damaged(malformed, torn), RULE, scattered=False)


def header(data: bytes) -> list[str]:
    """The names of the columns, as often as they stand there."""
    return fields(data.partition(b"\n")[0]) or []


def other_separator(data: bytes) -> str | None:
    """The separator that a header of one field seems to have; None where it has more fields.

    It is not read by guess: with ';' often goes the comma in numbers, and then the dot elsewhere.
    """
    names = header(data)
    if len(names) != 1:
        return None
    return next((mark for mark in OTHER_SEPARATORS if mark in names[0]), None)


def fields(line: bytes) -> list[str] | None:
    """The fields of one line, without blanks around them; None where it is no CSV."""
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
