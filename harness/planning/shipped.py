"""The spreads that come with the package: runs of each rung that was measured, as a pilot."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.compose import planner
from harness.planning import pilot, settings
from harness.planning.pilot import Level, Pilot

FILE = Path(__file__).parent / "spreads.json"
"""Made by `python -m benchmarks.plan ship PATH...`."""


def of(asked: Sequence[Mapping[str, Any]]) -> Pilot | None:
    """The measured levels with these settings; None where one of them was not measured."""
    for rung in rungs().values():
        found = [like(rung["levels"], config) for config in asked]
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
    """Rung -> its levels, the column they were compared on, and where they are from."""
    held: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: {**rung, "levels": [pilot.from_json(level) for level in rung["levels"]]}
        for name, rung in held["rungs"].items()
    }


def like(levels: Sequence[Level], config: Mapping[str, Any]) -> Level | None:
    """The level with these settings. Keys that came after it was measured have their defaults, by
    which older runs are compared too.
    """
    defaults = settings.flat(planner.point([]).config)
    known = (replace(one, config={**defaults, **one.config}) for one in levels)
    return next((one for one in known if not settings.unlike(one.config, config)), None)
