"""A chart of Weights & Biases as CSV: `"Step","RUN - reward","RUN - reward__MIN", ...`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.law.io.importers import csv_text
from harness.law.io.importers.rows import Rows

SPREAD = ("__MIN", "__MAX")
"""Ends of columns beside each metric: of runs that the chart has grouped."""
_METRIC = re.compile(r"(?P<run>.+?) - (?P<metric>\S+)")
_AXES = {"Step": "step"}


def looks_like(name: str, data: bytes) -> bool:
    """Whether a .csv has, for some column of a run, those of its spread."""
    columns = csv_text.header(data) if name.lower().endswith(".csv") else []
    return any(
        _METRIC.fullmatch(column) and all(column + end in columns for end in SPREAD)
        for column in columns
    )


def runs(data: bytes) -> list[str]:
    """The names of the runs, in the order of the columns."""
    found = (_METRIC.fullmatch(column) for column in csv_text.header(data))
    return list(dict.fromkeys(match["run"] for match in found if match))


def names(data: bytes) -> Mapping[str, str]:
    """Column of the file -> its metric without the run; `Step` becomes `step`."""
    plain = {}
    for column in csv_text.header(data):
        match = _METRIC.fullmatch(column)
        if not column.endswith(SPREAD):
            plain[column] = match["metric"] if match else _AXES.get(column, column)
    return plain


def rows(data: bytes) -> Rows:
    """The rows of an export of one run, under the names of its metrics."""
    read, plain = csv_text.rows(data), names(data)
    parsed = [{plain[name]: row[name] for name in row if name in plain} for row in read.rows]
    return Rows(parsed, read.lines, read.damage, read.rule, scattered=True)
