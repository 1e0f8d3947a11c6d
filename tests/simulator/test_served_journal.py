"""The journal: what was answered once is answered again, from memory, from disk, after a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.simulator.protocol import UserTurn
from harness.simulator.served import model_identity
from harness.simulator.served.journal import BEFORE, OPENINGS, Journal
from harness.testing.simulator_contract import converse, key
from tests.simulator.endpoint import Endpoint, completion, purpose, response, serving
from tests.simulator.served import connected, users


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


def a_conversation(
    endpoint: Endpoint, folder: Path, step: int = 1, binding: bool = True
) -> tuple[list[UserTurn], int]:
    """One conversation, held by a process that has just begun, and the calls it made."""
    before = len(endpoint.bodies)
    with connected(endpoint.url) as line:
        line.journal.keep_in(folder)
        line.journal.at_step(step, binding)
        talk = converse(users(line), key())
    return talk, len(endpoint.bodies) - before


def test_the_same_conversation_is_held_again_without_a_call(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    first, calls = a_conversation(endpoint, tmp_path)
    assert calls == 6
    assert a_conversation(endpoint, tmp_path) == (first, 0)
    assert {path.name for path in tmp_path.iterdir()} == {OPENINGS, "step-00001.jsonl"}
    entry = json.loads((tmp_path / "step-00001.jsonl").read_text().splitlines()[0])
    assert (entry["purpose"], entry["of"]) == ("appraise", [1, "train", 1, 0, 0, 1])


def test_another_step_asks_anew_but_for_the_opening(endpoint: Endpoint, tmp_path: Path) -> None:
    first, _ = a_conversation(endpoint, tmp_path)
    again, calls = a_conversation(endpoint, tmp_path, step=2)
    assert (again, calls) == (first, 5)


def test_a_torn_last_line_is_asked_again(endpoint: Endpoint, tmp_path: Path) -> None:
    first, _ = a_conversation(endpoint, tmp_path)
    journal = tmp_path / "step-00001.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert a_conversation(endpoint, tmp_path) == (first, 1)
    assert a_conversation(endpoint, tmp_path) == (first, 0)


@pytest.mark.parametrize("name", [OPENINGS, "step-00001.jsonl"])
def test_a_link_in_its_place_is_refused(endpoint: Endpoint, tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine"
    mine.write_text("")
    (tmp_path / name).symlink_to(mine)
    with pytest.raises(DataError, match=f"{name}: must not be a link, .* got a link to {mine}"):
        a_conversation(endpoint, tmp_path)
    assert mine.read_text() == ""


def read_again(folder: Path) -> None:
    journal = Journal()
    journal.keep_in(folder)
    journal.at_step(1, binding=True)


DAMAGED = (
    *("[1]", "5", "{}", "[" * 100_000, '{"id": "x"}', '{"id": [1], "content": "x"}', "\udcff"),
    *('{"id": "x", "content": 5}', '{"id": "x", "fault": ["server"]}', '{"content": "x"}'),
    *('{"id": "x", "fault": "\x1b[31m"}', '{"id": "x", "content": "x", "fault": "server"}'),
    '{"id": "x", "fault": "nonsense\\u001b[31m"}',
)


@pytest.mark.parametrize("line", DAMAGED, ids=lambda line: repr(line[:30]))
@pytest.mark.parametrize("name", [BEFORE, OPENINGS, "step-00001.jsonl"])
def test_a_damaged_line_is_named(tmp_path: Path, name: str, line: str) -> None:
    (tmp_path / name).write_bytes(line.encode(errors="surrogateescape") + b"\n")
    with pytest.raises(DataError, match=rf"{name}:1: each line must be an entry .* got b'"):
        read_again(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("name", [OPENINGS, "step-00001.jsonl"])
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: cannot be read: must be a regular file"):
        read_again(tmp_path)


@pytest.mark.parametrize("lost", ["open", "reply"])
def test_a_fault_binds_a_step_whose_row_is_on_disk_and_no_other(
    endpoint: Endpoint, tmp_path: Path, lost: str
) -> None:
    down = response("", "503 Service Unavailable")
    endpoint.script = lambda number, body: down if purpose(body) == lost else None
    failed, _ = a_conversation(endpoint, tmp_path)
    assert failed[-1].why == {"fault": "server"}
    endpoint.script = lambda number, body: None
    again, calls = a_conversation(endpoint, tmp_path, binding=True)
    assert (again[-1].why, calls) == ({"fault": "server"}, 0)
    again, calls = a_conversation(endpoint, tmp_path, binding=False)
    assert again[-1].ended == "cap"
    assert calls > 0


def test_another_model_or_prompt_is_another_request(endpoint: Endpoint, tmp_path: Path) -> None:
    a_conversation(endpoint, tmp_path)
    with connected(endpoint.url, model="another") as line:
        line.journal.keep_in(tmp_path)
        line.journal.at_step(1, binding=True)
        converse(users(line), key())
        assert line.take_usage().remembered == 0


def test_what_is_asked_before_the_first_step_is_kept_too(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    with connected(endpoint.url) as line:
        line.journal.keep_in(tmp_path)
        first = converse(users(line), key())
    with connected(endpoint.url) as line:
        line.journal.keep_in(tmp_path)
        assert converse(users(line), key()) == first
        assert line.take_usage().calls == 0
    assert (tmp_path / BEFORE).exists()


def test_a_journal_without_a_folder_writes_nothing(endpoint: Endpoint) -> None:
    endpoint.script = lambda n, b: (
        completion('{"say": "Hm, yes."}') if purpose(b) == "open" else None
    )
    with connected(endpoint.url) as line:
        simulator = users(line)
        assert [turn.text for turn in simulator.open([key()] * 2)] == ["Hm, yes."] * 2
        assert len(endpoint.bodies) == 1
    Journal().flush()


@pytest.mark.parametrize(
    ("text", "got"),
    [
        *(("[]", "list"), ("{}", "model"), ("[" * 100_000, "maximum recursion"), ("", "Expecting")),
        *(('{"model": 5, "builds": []}', "5 and"), ('{"model": "m", "builds": 5}', "'m' and 5")),
        *(
            ('{"model": "m", "builds": [5]}', r"'m' and \[5"),
            ('{"model": [], "builds": []}', r"\["),
        ),
        ('{"model": "m", "builds": "b1"}', "'m' and 'b1'"),
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_damaged_answerer_file_is_refused(tmp_path: Path, text: str, got: str) -> None:
    (tmp_path / model_identity.FILE).write_text(text)
    message = rf"answerer\.json: must say model and builds, as a run wrote them; got .*{got}"
    with pytest.raises(DataError, match=message):
        model_identity.ModelIdentity("http://here/v1").keep_in(tmp_path)


def test_a_pipe_in_place_of_the_answerer_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / model_identity.FILE)
    with pytest.raises(DataError, match=r"answerer\.json: .*must be a regular file"):
        model_identity.ModelIdentity("http://here/v1").keep_in(tmp_path)
