"""A whole run with a served user: what it leaves, what it loses, and how it goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.records import saved_conversations
from harness.records.run_folder import RunFolder, read_config
from tests.simulator.endpoint import (
    Endpoint,
    completion,
    data,
    play,
    response,
    serving,
)
from tests.train.made import finish, go_on, make_run, status
from tests.train.made_served_runs import STEPS, a_run, events, failing_once_in, rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunFolder, Endpoint]]:
    """A run on an endpoint that loses one conversation of each level's eight, without a retry."""
    with serving(failing_once_in(8)) as endpoint:
        run = a_run(tmp_path_factory.mktemp("served") / "run", endpoint.url, retries=0)
        code, _, err = go_on(run)
        assert code == 0, err
        yield run, endpoint


def test_a_run_counts_what_it_loses_by_type_and_learns_from_the_rest(
    whole: tuple[RunFolder, Endpoint],
) -> None:
    run, _ = whole
    steps = rows(run)
    assert sum(row["sim/failed"] for row in steps) > 0
    for row in steps:
        assert row["sim/failed"] == row["sim/failed/server"]
        assert row["sim/failed/timeout"] == 0
        assert 0 < row["reward"] < 1
    assert steps[0]["eval/failed"] > 0
    assert steps[0]["eval/hard/failed"] > 0
    assert 0 < steps[0]["eval/hard/reward"] < 1
    assert steps[1]["eval/failed"] is None


def test_what_a_run_cost_is_in_its_events(
    whole: tuple[RunFolder, Endpoint],
) -> None:
    run, endpoint = whole
    cost = events(run, "simulator")
    assert [event["step"] for event in cost] == list(range(1, STEPS + 1))
    assert sum(event["calls"] for event in cost) == len(endpoint.bodies)
    assert cost[0]["latency_s"]["median"] > 0
    assert cost[0]["given_up"]["server"] > 0
    assert cost[0]["tokens"] >= 100


def test_the_policy_hears_the_user_and_nothing_else(
    whole: tuple[RunFolder, Endpoint],
) -> None:
    run, _ = whole
    table = run.conversations / "step-00001.parquet"
    import pyarrow.parquet as pq

    turns = pq.read_table(table).to_pylist()
    openings = [t for t in turns if t["speaker"] == "user" and t["turn"] == 0]
    assert len(openings) == 8
    assert all("days ago" in turn["text"] for turn in openings)


def test_a_resumed_run_is_answered_from_the_journal_and_equals_the_uninterrupted(
    whole: tuple[RunFolder, Endpoint], tmp_path: Path
) -> None:
    """The endpoint has become another one meanwhile: whatever it is asked again would differ."""
    run, endpoint = whole
    again = RunFolder(tmp_path / "run")
    shutil.copytree(run.path, again.path)
    shutil.rmtree(again.checkpoints / "step-00004")
    text = again.metrics.read_text().splitlines(keepends=True)
    again.metrics.write_text("".join(text[:3]) + text[3][:40])
    broken_off = json.loads(again.status.read_text()) | {"status": "running", "exit_code": None}
    again.status.write_text(json.dumps(broken_off))
    journal = again.simulator / "step-00004.jsonl"
    kept = [line for line in journal.read_text().splitlines(keepends=True) if "fault" not in line]
    journal.write_text("".join(kept) + '{"id": "torn')
    endpoint.script, before = other, endpoint.script
    try:
        code, emitted, err = go_on(again)
    finally:
        endpoint.script = before
    assert code == 0, err
    assert [e["step"] for e in emitted if e["event"] == "step"] == [3, 4]
    assert events(again, "simulator")[-2]["calls"] == 1, "the check at the start"
    assert again.metrics.read_text().splitlines()[:3] == run.metrics.read_text().splitlines()[:3]
    assert len(rows(again)) == STEPS


def other(number: int, body: dict[str, Any]) -> bytes:
    answer = json.loads(play(body))
    if "change" in answer:
        assert data(body)
        return completion(json.dumps(answer | {"change": -5, "target_fit": "none"}))
    return completion(json.dumps({"say": f"Something else, number {number}."}))


@pytest.mark.slow
def test_an_endpoint_that_dies_stops_the_run_resumably(tmp_path: Path) -> None:
    with serving() as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, steps=22, retries=1)

        def dead_after_13_steps(number: int, body: dict[str, Any]) -> bytes | None:
            written = run.metrics.read_bytes().count(b"\n") if run.metrics.exists() else 0
            return response("", "503 Service Unavailable") if written >= 13 else None

        endpoint.script = dead_after_13_steps
        code, _, err = finish(run)
        assert code == 69, err
        assert "at most 20% of the 160 conversations of 20 steps may be lost" in err
        stopped = status(run)
        assert (stopped["status"], stopped["exit_code"]) == ("stopped", 69)
        lost = [row["sim/failed"] for row in rows(run)]
        assert lost[:13] == [0] * 13
        assert 32 < sum(lost) <= 48
        endpoint.script = lambda number, body: None
        assert finish(run)[0] == 0
    assert status(run)["status"] == "done"
    assert [row["sim/failed"] for row in rows(run)][: len(lost)] == lost
    assert sum(row["sim/failed"] for row in rows(run)) == sum(lost)


def test_what_a_short_run_may_lose_is_of_its_own_steps(tmp_path: Path) -> None:
    with serving() as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, retries=0)

        def dead_after_a_step(number: int, body: dict[str, Any]) -> bytes | None:
            written = run.metrics.read_bytes().count(b"\n") if run.metrics.exists() else 0
            return response("", "503 Service Unavailable") if written else None

        endpoint.script = dead_after_a_step
        code, _, err = go_on(run)
    assert code == 69, err
    assert f"at most 20% of the 32 conversations of {STEPS} steps may be lost" in err


def test_an_endpoint_that_was_never_there_ends_the_run_before_its_first_step(
    tmp_path: Path,
) -> None:
    with serving() as endpoint:
        url = endpoint.url
    run = a_run(tmp_path / "run", url)
    code, emitted, err = go_on(run)
    assert code == 69
    assert f"simulator.base_url: {url} must answer as 'm', got connection" in err
    assert (status(run)["status"], rows(run) if run.metrics.exists() else []) == ("stopped", [])
    assert emitted[-1] == {"event": "end", "status": "stopped", "exit_code": 69}


def test_conversations_keep_the_reason_and_the_fault_of_a_served_user(
    whole: tuple[RunFolder, Endpoint],
) -> None:
    run, _ = whole
    every = saved_conversations.read(run.path, STEPS).conversations
    lost = [one for one in every if one.ended == "failed"]
    assert len(lost) == rows(run)[STEPS - 1]["sim/failed"] > 0
    for one in every:
        assert (one.reward is None) == (one in lost)
        assert one.persona
        assert one.intention
        reply, last = one.turns[-2:]
        assert last.why is not None
        assert reply.taken_up is None
        assert (last.why.fault, last.why.reason is None) == (
            ("server", True) if one in lost else (None, False)
        )
        assert (last.reported_emotion is None) == (reply.strategies is None) == (one in lost)


@pytest.mark.parametrize("critique", ["score", "reaction"])
def test_the_worst_conversation_is_spoken_again_and_may_be_lost_then(
    tmp_path: Path, critique: str
) -> None:
    """Play has the user fall where a reply is not one of its own; some answers fail."""
    with serving(failing_once_in(17)) as endpoint:
        base = read_config(a_run(tmp_path / "base", endpoint.url, steps=3, turns=2, retries=0))
        algorithm = replace(
            base.algorithm, kind="critique_grpo", options={"critique": critique}, group_size=4
        )
        run = make_run(tmp_path / "run", replace(base, algorithm=algorithm))
        code, _, err = go_on(run)
    assert code == 0, err
    written = rows(run)
    assert all(row["refined/groups"] > 0 for row in written)
    assert sum(row["refined/replies"] for row in written) > 6
    assert any(row["refined/gain"] is not None for row in written)
