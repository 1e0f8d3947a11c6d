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


def of(asked: Sequence[Mapping[str, Any]]) -> Pilot | None:
    """Return the measured levels with these settings; None if one of them was not measured."""
    for rung in rungs().values():
        found = [find_level(rung["levels"], config) for config in asked]
        if all(level is not None for level in found):
            return Pilot(
                source=rung["source"],
                levels=tuple(level for level in found if level is not None),
                column=rung["column"],
                tested=tuple(rung["tested"]),
            )
    return None


@functools.cache
def rungs() -> Mapping[str, Mapping[str, Any]]:
    """Return rung -> its levels, the column they were compared on, and their source."""
    held: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: {**rung, "levels": [pilot.from_json(level) for level in rung["levels"]]}
        for name, rung in held["rungs"].items()
    }


def find_level(levels: Sequence[PilotLevel], config: Mapping[str, Any]) -> PilotLevel | None:
    """Return the level with these settings, or None.

    Keys added since it was measured get their defaults.
    """
    defaults = settings.flat(planner.point([]).config)
    known = (replace(one, config={**defaults, **one.config}) for one in levels)
    return next((one for one in known if not settings.differing_settings(one.config, config)), None)
