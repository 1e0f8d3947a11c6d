"""The transfer matrix: the reward of each group of runs at every named level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.config.run import LEVELS
from harness.law.compare.seed_means import drop_interval_of_repeats, mean_over_seeds
from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.results import RunResult
from harness.report.text import wording

BOUNDS = ("", "_low", "_high")
COLUMNS = (
    "trained_on",
    "runs",
    *(f"{level}{kind}{end}" for level in LEVELS for kind in ("", "_gain") for end in BOUNDS),
    "unfinished",
)


def rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the mean over seeds of the last evaluation at each level, and of its gain.

    The gain is the difference from the first evaluation. Intervals are t intervals over seeds,
    empty for one seed. Unfinished runs are excluded; `unfinished` is their number. Empty if no run
    was evaluated at named levels.
    """
    return [row for _, row in named_rows(analysis)]


def named_rows(analysis: Analysis) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows, each with the short name of its group."""
    runs = {run.run: run for run in analysis.runs if run.transfer}
    members = [(g, [runs[name] for name in g.runs if name in runs]) for g in analysis.groups]
    return [
        (wording.short_name(group.key), _row(group, evaluated))
        for group, evaluated in members
        if evaluated
    ]


def _row(group: GroupResult, runs: Sequence[RunResult]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "trained_on": wording.group_name(group.key),
        "runs": len(runs),
    }
    for level in LEVELS:
        evaluated = [(run.transfer or {})[level] for run in runs if level in (run.transfer or {})]
        seeds = [run.seed for run in runs if level in (run.transfer or {})]
        gains = [ends.end - ends.start for ends in evaluated]
        row |= _cells(
            level,
            drop_interval_of_repeats(mean_over_seeds([ends.end for ends in evaluated], 0), seeds),
        )
        row |= _cells(f"{level}_gain", drop_interval_of_repeats(mean_over_seeds(gains, 0), seeds))
    return row | {"unfinished": len(group.left_out)}


def _cells(name: str, pool: SeedMean) -> dict[str, float | None]:
    return dict(zip([name + end for end in BOUNDS], (pool.mean, pool.low, pool.high), strict=True))
