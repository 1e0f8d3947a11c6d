"""Convert an analysis to the dict of law.json.

Keys are the fields of the results in their order, with the exceptions defined here. A value that
could not be computed is None in the results and null in JSON. The dict is dumped with
allow_nan=False, which refuses NaN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from harness.law.group_results import Analysis, Contrast
from harness.law.result_parts import ReadProblem
from harness.law.results import AtOnset, ColumnLaw, RunResult

SCHEMA = 2
"""Version 2: a, b and the ceiling of a run come from the rows that its verdict refers to."""
COLUMN_LAW = (
    "n_valid", "verdict", "reasons", "out_of_time_skill", "n_fitted", "n_eff", "a", "b", "ceiling",
    "cov_ab", "identified", "reliability", "ols", "same_batch", "gain",
)  # fmt: skip
"""Keys of a law in `fits`, in order."""
CONTRAST = (
    "with", "quantity", "primary", "difference", "low", "high", "p", "p_holm", "decision", "why",
    "on", "margin", "p_equivalent", "minimum_detectable", "seeds", "seeds_needed", "on_probe",
    "unlike_failures", "remedy_inactive", "net_of_null", "invalid_users",
)  # fmt: skip


def from_analysis(analysis: Analysis) -> dict[str, Any]:
    """Return the content of law.json."""
    return {
        "schema": SCHEMA,
        "runs": [from_run(run) for run in analysis.runs],
        "groups": _plain(analysis.groups),
        "skipped": _plain(analysis.skipped),
    }


def from_run(run: RunResult) -> dict[str, Any]:
    """Return one entry of `runs`."""
    values: dict[str, Any] = _plain(run)
    return values


def _plain(value: Any) -> Any:
    """Convert results and mappings to dicts, and sequences to lists.

    Unlike dataclasses.asdict, it does not copy other values.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, ReadProblem):
        return {"class": value.kind, "message": value.message}
    if isinstance(value, AtOnset):
        return {"reward_left": _plain(value.reward_left), **value.columns}
    if isinstance(value, Contrast):
        values = {"with": _plain(value.baseline), **_fields(value)}
        return {name: values[name] for name in CONTRAST}
    if isinstance(value, ColumnLaw):
        values = _fields(value)
        return {name: values[name] for name in COLUMN_LAW}
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
