"""Load the spreads over seeds shipped with the package, as pilots of the measured rungs."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.compose import planner
from harness.planning import pilot, settings
from harness.planning.pilot import Pilot, PilotLevel

FILE = Path(__file__).parent / "spreads.json"
"""Written by `python -m benchmarks.plan ship PATH...`."""


def of(configs: Sequence[Mapping[str, Any]]) -> Pilot | None:
    """Return the measured levels with these settings; None if one of them was not measured."""
    for rung in rungs().values():
        levels = [find_level(rung["levels"], config) for config in configs]
        if all(level is not None for level in levels):
            return Pilot(
                source=rung["source"],
                levels=tuple(level for level in levels if level is not None),
                column=rung["column"],
                tested=tuple(rung["tested"]),
            )
    return None


@functools.cache
def rungs() -> Mapping[str, Mapping[str, Any]]:
    """Return rung -> its levels, the column they were compared on, and their source."""
    content: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: {**rung, "levels": [pilot.from_json(level) for level in rung["levels"]]}
        for name, rung in content["rungs"].items()
    }


def find_level(levels: Sequence[PilotLevel], config: Mapping[str, Any]) -> PilotLevel | None:
    """Return the level with these settings, or None.

    Keys added since it was measured get their defaults.
    """
    defaults = settings.flat(planner.point([]).config)
    completed = (replace(level, config={**defaults, **level.config}) for level in levels)
    return next(
        (level for level in completed if not settings.differing_settings(level.config, config)),
        None,
    )
