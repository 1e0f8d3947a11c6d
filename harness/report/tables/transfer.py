"""transfer.csv: a row for what was trained on, and what that is worth at easy, medium and hard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.config.run import LEVELS
from harness.law.compare.groups import over_seeds, pooled
from harness.law.group_results import Analysis, GroupResult, Pooled
from harness.law.results import RunResult
from harness.report.tables import csv_cells
from harness.report.tables.contrasts import key

BOUNDS = ("", "_low", "_high")
COLUMNS = (
    "trained_on",
    "runs",
    *(f"{level}{what}{end}" for level in LEVELS for what in ("", "_gain") for end in BOUNDS),
    "unfinished",
)


def csv(analysis: Analysis) -> str | None:
    """Mean over seeds of the last evaluation at each level, and of its gain since the first.

    Intervals are t intervals over seeds, empty for one seed. `unfinished` runs are left out and
    counted. None where no run tells.
    """
    runs = {run.run: run for run in analysis.runs if run.transfer}
    members = [(g, [runs[name] for name in g.runs if name in runs]) for g in analysis.groups]
    rows = [_row(group, told) for group, told in members if told]
    return csv_cells.table(COLUMNS, rows) if rows else None


def _row(group: GroupResult, runs: Sequence[RunResult]) -> dict[str, Any]:
    row: dict[str, Any] = {"trained_on": key(group.key) or runs[0].level, "runs": len(runs)}
    for level in LEVELS:
        told = [(run.transfer or {})[level] for run in runs if level in (run.transfer or {})]
        seeds = [run.seed for run in runs if level in (run.transfer or {})]
        gains = [ends.end - ends.start for ends in told]
        row |= _cells(level, over_seeds(pooled([ends.end for ends in told], 0), seeds))
        row |= _cells(f"{level}_gain", over_seeds(pooled(gains, 0), seeds))
    return row | {"unfinished": len(group.left_out)}


def _cells(name: str, given: Pooled) -> dict[str, float | None]:
    return dict(
        zip([name + end for end in BOUNDS], (given.mean, given.low, given.high), strict=True)
    )
