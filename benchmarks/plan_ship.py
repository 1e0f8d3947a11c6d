"""The spreads that come with the package: `benchmarks.plan ship`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.plan_truth import (
    WORDS,
)
from harness.config.run import SCHEMA
from harness.planning import pilot, pilot_runs, reading, settings, shipped
from harness.planning.pilot_runs import Candidate

DIGITS = 6


def ship(paths: Sequence[Path]) -> None:
    """Write the spreads of the tabular rung, from the finished runs below `paths`."""
    asked = settings.parse_levels(WORDS)
    every = [one for path in paths for one in pilot_runs.find_runs(path)[0]]
    chosen = [_distinct(every, config) for config in asked.flat]
    today = date.today().isoformat()
    source = f"{sum(map(len, chosen))} shipped runs of policy=tabular, {today}"
    found = reading.read(source, chosen)
    rung = {
        "source": source,
        "column": found.column,
        "tested": found.tested,
        "levels": [_rounded(pilot.to_json(level)) for level in found.levels],
    }
    held = {
        "schema": SCHEMA,
        "made_by": "python -m benchmarks.plan ship PATH...",
        "made_on": today,
        "rungs": {"tabular": rung},
    }
    shipped.FILE.write_text(json.dumps(held, indent=None) + "\n", encoding="utf-8")
    for name, level in zip(asked.names, found.levels, strict=True):
        print(name, len(level.seeds), "seeds", level.per_user, level.spent)


def _distinct(every: Sequence[Candidate], config: Mapping[str, Any]) -> list[Candidate]:
    """Runs of a level, one a seed: studies share seeds, and with them whole runs."""
    mine = [one for one in every if not settings.differing_settings(one.config, config)]
    mine = [one for one in mine if one.config["trainer.eval_every"] == config["trainer.eval_every"]]
    return list({one.seed: one for one in mine}.values())


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {str(key): _rounded(held) for key, held in value.items()}
    return [_rounded(held) for held in value] if isinstance(value, list | tuple) else value
