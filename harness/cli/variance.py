"""The variance command: the components of the variance of outcomes, and the sizes that follow."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cli import exit_codes
from harness.config.run import LEVELS, SCHEMA
from harness.errors import ConfigError, DataError
from harness.law.variance import measure
from harness.law.variance.results import REWARD_RANGE, Variance
from harness.records.outcomes import OWN
from harness.report.tables import variance as table


def variance(paths: tuple[Path, ...], level: str, half_width: float, *, as_json: bool) -> None:
    """Print the components of variance of the runs at or below `paths`. Writes nothing.

    Raises ConfigError for an invalid level or half-width, DataError if no run counts.
    """
    if level not in (OWN, *LEVELS):
        raise ConfigError(f"--on: must be one of {OWN}, {', '.join(LEVELS)}, got {level!r}")
    if not 0 < half_width <= REWARD_RANGE:
        rule = f"must be above 0 and at most {REWARD_RANGE:g}, the range of a reward"
        raise ConfigError(f"--half-width: {rule}; got {half_width:g}")
    result = measure.measure(paths, level, half_width)
    if not result.arms:
        reasons = "; ".join(sorted({skipped.reason for skipped in result.skipped}))
        where, why = ", ".join(map(str, paths)), f"none: {reasons}" if reasons else "none"
        raise DataError(f"{where}: needs a finished run with evaluations, found {why}")
    with exit_codes.tolerate_closed_stdout():
        if as_json:
            print(json.dumps(to_json(result), indent=1, allow_nan=False))
        else:
            table.print_variance(result, Console())


def to_json(result: Variance) -> dict[str, Any]:
    """Return the value of --json: the fields of Variance. Variances are in squared units."""
    return {"schema": SCHEMA, **asdict(result)}
