"""A sweep with a served user, as a user runs it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from harness.testing.commands import TABULAR, harness, ledger, only_sweep
from tests.simulator.endpoint import HANG, Body, serving
from tests.simulator.test_served_faults import APPRAISAL_FAULTS, TRIES

WIRES: list[bytes | str] = [
    HANG, *(wire for wire, kind in APPRAISAL_FAULTS.values() if TRIES.get(kind, 3) == 3)
]  # fmt: skip
SMALL = ("difficulty.turn_cap=1", "trainer.steps=1", "simulator.backoff_s=0.01")


def cost(run: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "simulator"]


@pytest.mark.slow
def test_no_run_is_lost_where_three_calls_in_ten_fail_in_mixed_ways(tmp_path: Path) -> None:
    chance = random.Random(5)

    def script(number: int, body: Body) -> bytes | str | None:
        return chance.choice(WIRES) if chance.random() < 0.3 else None

    with serving(script) as endpoint:
        told = (f"simulator.base_url={endpoint.url}", "simulator.deadline_s=2")
        words = (*TABULAR, *SMALL, *told, "difficulty=easy,hard", "simulator=served")
        done = harness("sweep", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    root = only_sweep(tmp_path)
    assert [row["status"] for row in ledger(root)] == ["done", "done"]
    for row in ledger(root):
        run = Path(str(row["dir"]))
        assert sum(sum(event["retries"].values()) for event in cost(run)) > 100
        for line in (run / "metrics.jsonl").read_text().splitlines():
            assert json.loads(line)["sim/failed"] <= 2
            assert json.loads(line)["reward"] is not None
