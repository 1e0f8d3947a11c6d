"""Read a Weights & Biases chart in CSV: `"Step","RUN - reward","RUN - reward__MIN", ...`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.law.io.importers import csv_text
from harness.law.io.importers.rows import Rows

SPREAD = ("__MIN", "__MAX")
"""Suffixes of the columns with the spread of a metric over grouped runs."""
_METRIC = re.compile(r"(?P<run>.+?) - (?P<metric>\S+)")
_AXES = {"Step": "step"}


def looks_like(name: str, data: bytes) -> bool:
    """Return whether a .csv has a metric of a run together with the columns of its spread."""
    columns = csv_text.header(data) if name.lower().endswith(".csv") else []
    return any(
        _METRIC.fullmatch(column) and all(column + end in columns for end in SPREAD)
        for column in columns
    )


def runs(data: bytes) -> list[str]:
    """Return the names of the runs, in the order of the columns."""
    matches = (_METRIC.fullmatch(column) for column in csv_text.header(data))
    return list(dict.fromkeys(match["run"] for match in matches if match))


def names(data: bytes) -> Mapping[str, str]:
    """Return column of the file -> metric name without the run. `Step` becomes `step`."""
    by_column = {}
    for column in csv_text.header(data):
        match = _METRIC.fullmatch(column)
        if not column.endswith(SPREAD):
            by_column[column] = match["metric"] if match else _AXES.get(column, column)
    return by_column


def rows(data: bytes) -> Rows:
    """Read the export of one run, with metric names as columns."""
    export, by_column = csv_text.rows(data), names(data)
    parsed = [
        {by_column[name]: row[name] for name in row if name in by_column} for row in export.rows
    ]
    return Rows(parsed, export.lines, export.damage, export.rule, scattered=True)
