"""A sweep with a served user, as a user runs it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from harness.testing.commands import TABULAR, harness, here, ledger, only_sweep
from tests.simulator.endpoint import HANG, Body, serving
from tests.simulator.served import APPRAISAL_FAULTS, TRIES

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
        calls = sum(event["calls"] for event in cost(run))
        retries = sum(sum(event["retries"].values()) for event in cost(run))
        assert calls > 100
        assert retries > 0.2 * calls
        for line in (run / "metrics.jsonl").read_text().splitlines():
            assert json.loads(line)["sim/failed"] <= 2
            assert json.loads(line)["reward"] is not None


def test_an_endpoint_that_is_not_there_is_told_before_a_folder_is_made(tmp_path: Path) -> None:
    words = ("simulator.base_url=http://127.0.0.1:9/v1", "simulator.model=m", *SMALL)
    done = here("sweep", *TABULAR, "simulator=served", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (69, "")
    asked, failed = done.stderr.splitlines()[-2:]
    assert asked == "harness: asking http://127.0.0.1:9/v1 for one answer of m"
    assert failed.startswith("harness: simulator.base_url: http://127.0.0.1:9/v1 must answer as")
    assert failed.endswith("; start it, as in `vllm serve m`, or set simulator.base_url=URL")
    assert not list(tmp_path.iterdir())


def test_two_levels_ask_their_endpoint_once(tmp_path: Path) -> None:
    with serving() as endpoint:
        told = (f"simulator.base_url={endpoint.url}", "simulator.model=m")
        words = (*TABULAR, *SMALL, *told, "difficulty=easy,hard", "simulator=served")
        done = harness("sweep", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("for one answer of m") == 1
