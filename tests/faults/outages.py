"""An endpoint that goes away, and runs on it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.records.run_folder import RunFolder
from tests.simulator.endpoint import Body, Script, response
from tests.simulator.served import config as served
from tests.train.made import make_run, short, tabular
from tests.train.made_served_runs import rows

REFUSED, BUSY = b"", response("", "503 Service Unavailable")
ANSWERS: Script = lambda number, body: None  # noqa: E731
PATIENT = {"outage_s": 60.0, "retries": 1, "backoff_s": 0.05}


def a_run(path: Path, url: str, **values: Any) -> RunFolder:
    """Three steps of 8 conversations of one reply, evaluated at the first and the last."""
    levels, trainer = short(1), values.pop("trainer", {})
    given = {"steps": 3, "conversations": 8, "checkpoint_every": 2, "eval_every": 1000, **trainer}
    simulator = served(url, **{**PATIENT, **values})
    base = replace(tabular(**given), difficulty=levels.medium, levels=levels)
    return make_run(path, replace(base, simulator=simulator))


def away(seconds: float, wire: bytes | str = REFUSED, after: int = 25) -> Script:
    """Gone for so long, from the request of that number on."""
    left: list[float] = []

    def script(number: int, body: Body) -> bytes | str | None:
        if number >= after and not left:
            left.append(time.monotonic() + seconds)
        return wire if left and time.monotonic() < left[0] else None

    return script


def lost(run: RunFolder) -> float:
    found = rows(run)
    return sum((row["sim/failed"] or 0) + (row["eval/failed"] or 0) for row in found)
