"""Runs whose users are served by a script."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.config.run import RunConfig
from harness.records.run_folder import RunFolder
from tests.simulator.endpoint import Body, Script, level, purpose, response
from tests.simulator.served import config as served
from tests.train.made import make_run, short, tabular

STEPS = 4


def a_run(path: Path, url: str, steps: int = STEPS, turns: int = 1, **values: Any) -> RunFolder:
    levels = short(turns)
    base = tabular(steps=steps, conversations=8, checkpoint_every=2, eval_every=1000)
    config: RunConfig = replace(
        base, simulator=served(url, **values), difficulty=levels.medium, levels=levels
    )
    return make_run(path, config)


def failing_once_in(calls: int) -> Script:
    """Return the script of an endpoint that fails one in so many appraisals of each level.

    Each level is counted for itself, since an evaluation asks for all of them at once, in any
    order: whatever it is, no level loses two of so many in a row.
    """
    appraised: Counter[str] = Counter()

    def script(number: int, body: Body) -> bytes | None:
        if purpose(body) != "appraise":
            return None
        appraised[level(body)] += 1
        lost = appraised[level(body)] % calls == 4
        return response("", "500 Internal Server Error") if lost else None

    return script


def rows(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def events(run: RunFolder, name: str) -> list[dict[str, Any]]:
    written = [json.loads(line) for line in run.events.read_text().splitlines()]
    return [event for event in written if event["event"] == name]
