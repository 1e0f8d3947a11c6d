"""Requests that are asked once, and the answers of a step that was broken off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StorageError
from harness.simulator.served.client import EndpointClient
from harness.simulator.served.completions import Request
from harness.simulator.served.faults import EndpointFault
from harness.simulator.served.journal import Journal
from harness.testing.simulator_contract import converse, key
from tests.faults.sampling import sampled
from tests.simulator.endpoint import data, purpose, response, serving
from tests.simulator.served import connected, users

Record = Callable[[str, object], None]


def request(number: int = 0, said: str = "Hm.") -> Request:
    return Request("reply", (number,), "Say something.", {"latest": said}, {})


def together(line: EndpointClient, *reads: Callable[[str], str]) -> list[str | EndpointFault]:
    """The same request from several at once, each with a way of its own to read the answer."""

    async def ask(read: Callable[[str], str]) -> str | EndpointFault:
        try:
            return await line.ask(request(), read)
        except EndpointFault as fault:
            return fault

    return line.run([ask(read) for read in reads])


@contextlib.contextmanager
def sampling_line(folder: Path, **values: Any) -> Iterator[tuple[EndpointClient, Any]]:
    with serving(sampled(random.Random(1))) as endpoint, connected(endpoint.url, **values) as line:
        line.journal.keep_in(folder)
        line.journal.at_step(1, binding=True)
        yield line, endpoint


def refuse(content: str) -> str:
    raise EndpointFault("leaked", "not for me")


@pytest.mark.attack(
    "ten ask the same at once, of an endpoint that samples", "one call; all get its answer"
)
def test_what_is_asked_at_once_is_asked_once(tmp_path: Path, record_property: Record) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        found = together(line, *[str] * 10)
        tally = line.take_usage()
        calls = len(endpoint.bodies)
    assert len(set(found)) == 1
    assert (calls, tally.calls, tally.remembered) == (1, 1, 9)
    (kept,) = (tmp_path / "step-00001.jsonl").read_text().splitlines()
    assert json.loads(kept)["content"] == found[0]
    record_property("seen", f"{calls} call, {tally.remembered} others given its answer")


def test_an_answer_that_one_of_them_cannot_take_is_a_fault_of_that_one(tmp_path: Path) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        first, second, third = together(line, str, refuse, str)
        assert isinstance(first, str)
        assert isinstance(second, EndpointFault)
        assert (third, second.kind, len(endpoint.bodies)) == (first, "leaked", 1)
        assert together(line, refuse, str)[1] == first
        assert len(endpoint.bodies) == 1


def test_a_fault_of_the_one_call_is_everyones(tmp_path: Path) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        endpoint.script = lambda number, body: response("", "503 Service Unavailable")
        found = together(line, str, str, str)
        tally = line.take_usage()
    assert [str(fault)[:6] for fault in found] == ["server"] * 3
    assert (tally.calls, tally.retries, tally.given_up) == (3, {"server": 2}, {"server": 1})
    assert len((tmp_path / "step-00001.jsonl").read_text().splitlines()) == 1


def test_the_first_to_ask_may_leave(tmp_path: Path) -> None:
    async def scenario(line: EndpointClient) -> str:
        first = asyncio.ensure_future(line.ask(request(), str))
        second = asyncio.ensure_future(line.ask(request(), str))
        await asyncio.sleep(0.05)
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await first
        return await second

    with sampling_line(tmp_path) as (line, endpoint):
        endpoint.delay_s = 0.3
        (said,) = line.run([scenario(line)])
        assert (bool(said), len(endpoint.bodies)) == (True, 1)


@pytest.mark.attack(
    "an opening fails, the step is broken off, and is answered when the step is held again",
    "a replay of that step hears the opening, not the fault that came before",
)
def test_the_fault_of_a_step_broken_off_is_gone_for_good(
    tmp_path: Path, record_property: Record
) -> None:
    def a_talk(binding: bool) -> list[Any]:
        with connected(endpoint.url) as line:
            line.journal.keep_in(tmp_path)
            line.journal.at_step(1, binding)
            return list(converse(users(line), key()))

    with serving() as endpoint:
        down = response("", "503 Service Unavailable")
        endpoint.script = lambda number, body: down if purpose(body) == "open" else None
        assert a_talk(binding=False)[-1].why == {"fault": "server"}
        endpoint.script = lambda number, body: None
        held = a_talk(binding=False)
        assert held[-1].ended == "cap"
        assert data(endpoint.bodies[-1])
    assert a_talk(binding=True) == held
    record_property("seen", "the same conversation, with the endpoint gone")


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.attack(
    "the disk fills up in the middle of a line of the journal, and it is written to once more",
    "half a line is none: the journal is read whole afterwards",
)
def test_half_a_line_is_taken_back(tmp_path: Path, record_property: Record) -> None:
    journal = Journal()
    journal.keep_in(tmp_path)
    journal.at_step(1, binding=True)
    for number in range(5):
        one = request(number)
        journal.add(one.digest("m", None), one, f"answer {number}", None)
    with files_of_at_most(250), pytest.raises(StorageError, match="File too large"):
        journal.flush()
    journal.flush()
    again = Journal()
    again.keep_in(tmp_path)
    again.at_step(1, binding=True)
    found = [again.find(request(number).digest("m", None)) for number in range(5)]
    assert [entry and entry["content"] for entry in found] == [f"answer {n}" for n in range(5)]
    record_property("seen", "StorageError, then 5 whole lines")
