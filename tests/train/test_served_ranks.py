"""Served users of a run of several ranks: asked once, by rank 0, and in one journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.config.run import RunConfig
from harness.errors import EndpointError, StoppedError
from harness.records.run_folder import RunFolder
from harness.simulator.protocol import ConversationKey
from harness.simulator.served.cast import user_of
from harness.simulator.state import User
from tests.simulator.endpoint import HANG, Body, purpose, response, serving
from tests.simulator.served import config as served
from tests.train.made import make_run, start, status
from tests.train.made_ranks import assert_close, config, trained

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # whole runs of two processes


def with_users(url: str, ranks: int, users: dict[str, Any] | None = None, **trainer: Any) -> Any:
    """A run of `test_ranks.config` on the users of an endpoint."""
    given: RunConfig = config(ranks, **({"waves": 2} | trainer))
    return replace(given, simulator=served(url, **(users or {})))


def journal_of(run: RunFolder) -> list[dict[str, Any]]:
    files = sorted(run.simulator.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def answers(run: RunFolder) -> set[tuple[str, str]]:
    """What the journal holds."""
    return {(entry["id"], entry["content"]) for entry in journal_of(run)}


def of_last_group(given: RunConfig, body: Body) -> bool:
    """Whether a request is of the users whom the last rank meets in its last group."""
    return first_fact(given, 3) in json.dumps(body) and purpose(body) != "open"


def first_fact(given: RunConfig, group: int) -> str:
    """What the user of a group of the first step has to tell."""
    user = user_of(ConversationKey(given.seed, 1, group, 0), given.difficulty, given.simulator)
    assert isinstance(user, User)
    return user.persona.facts[0]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunFolder, int]]:
    """A run of one rank, and how many calls it took."""
    with serving() as endpoint:
        folder = tmp_path_factory.mktemp("alone") / "run"
        yield trained(folder, with_users(endpoint.url, 1)), len(endpoint.bodies)


def test_two_ranks_ask_what_one_asks_and_get_its_numbers(
    alone: tuple[RunFolder, int], tmp_path: Path
) -> None:
    """Also where a user of one rank is slow."""
    with serving(late_s=0.2) as endpoint:
        given = with_users(endpoint.url, 2)
        endpoint.late = first_fact(given, 3)
        run = trained(tmp_path / "two", given)
    assert_close(run, alone[0])
    assert answers(run) == answers(alone[0])
    assert len(endpoint.bodies) == alone[1]
    for file in run.simulator.glob("*.jsonl"):
        ids = [json.loads(line)["id"] for line in file.read_text().splitlines()]
        assert len(ids) == len(set(ids)), "no question is in it twice"
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    calls = [event["calls"] for event in events if event["event"] == "simulator"]
    assert sum(calls) == len(endpoint.bodies), "those of the other rank are counted"


LOST_AFTER_ITS_DRAW = """
import os, sys
if 'harness.train.loop.rank' in sys.orig_argv:
    from harness.train.ranks import worker
    before, asked = worker._answer, []
    def answer(rank, call, *more):
        done = before(rank, call, *more)
        asked.append(call.method == 'draw')
        if sum(asked) == 2:
            os._exit(9)
        return done
    worker._answer = answer
"""


def test_what_a_lost_rank_was_answered_is_not_asked_again(
    alone: tuple[RunFolder, int], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(LOST_AFTER_ITS_DRAW)
    with serving() as endpoint:
        run = make_run(tmp_path / "run", with_users(endpoint.url, 2), users=None)
        words = [sys.executable, "-m", "harness.train", str(run.path)]
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == StoppedError.exit_code, done.stderr
        assert "rank 1 of 2 ended with exit code 9" in done.stderr
        before = len(endpoint.bodies)
        on_one = [sys.executable, "-m", "harness.train", str(run.path), "--ranks", "1"]
        again = subprocess.run(on_one, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0, again.stderr
    assert_close(run, alone[0])
    assert answers(run) == answers(alone[0])
    assert 0 < before < alone[1]
    assert len(endpoint.bodies) == alone[1] + 1, "the check at the second start"


def test_a_rank_whose_users_do_not_answer_is_named_at_the_deadline(tmp_path: Path) -> None:
    with serving() as endpoint:
        given = with_users(endpoint.url, 2, deadline_s=25.0, eval_every=0)
        endpoint.script = lambda number, body: HANG if of_last_group(given, body) else None
        run = make_run(tmp_path / "run", given, users=None)
        child = start(run)
        err = child.communicate(timeout=300)[1]
    assert child.returncode == StoppedError.exit_code, err
    waited = (
        "after 25 s in it (trainer.deadline_s), waiting for rank 1 of 2, which waits for 4 users"
    )
    assert status(run)["reason"].endswith(waited)


def test_an_outage_is_waited_out_whichever_rank_meets_it(
    alone: tuple[RunFolder, int], tmp_path: Path
) -> None:
    """It begins with a user of the other rank, for whom rank 0 may already wait."""
    away_until = [0.0]

    def script(number: int, body: Body) -> bytes | None:
        if of_last_group(given, body) and not away_until[0]:
            away_until[0] = time.monotonic() + 4
        gone = time.monotonic() < away_until[0]
        return response("", "503 Service Unavailable") if gone else None

    with serving(script) as endpoint:
        given = with_users(endpoint.url, 2, {"retries": 0, "outage_s": 60.0})
        run = trained(tmp_path / "run", given)
    assert_close(run, alone[0])
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    (outage,) = [event for event in events if event["event"] == "outage"]
    assert (outage["step"], outage["answered"]) == (1, True)


def test_an_outage_for_good_of_another_rank_ends_the_run_resumably(tmp_path: Path) -> None:
    with serving() as endpoint:
        given = with_users(endpoint.url, 2, {"retries": 0, "outage_s": 1.5}, eval_every=0)
        gone = [False]

        def script(number: int, body: Body) -> bytes | None:
            gone[0] = gone[0] or of_last_group(given, body)
            return response("", "503 Service Unavailable") if gone[0] else None

        endpoint.script = script
        run = make_run(tmp_path / "run", given, users=None)
        child = start(run)
        err = child.communicate(timeout=300)[1]
    assert child.returncode == EndpointError.exit_code, err
    assert status(run)["status"] == "stopped"
    assert "must answer within 1.5 s (simulator.outage_s)" in status(run)["reason"]
