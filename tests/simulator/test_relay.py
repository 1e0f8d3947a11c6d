"""Served users asked by another process: the contract of all users, and what comes of errors."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from harness.errors import EndpointError
from harness.simulator.served.client import EndpointClient
from harness.simulator.served.faults import Outage
from harness.simulator.served.relay import (
    Relay,
    RelayedUsers,
    RelayError,
    RelayLine,
    UserQuery,
)
from harness.simulator.served.simulator import probe_request
from harness.testing.simulator_contract import SimulatorContract, converse, key
from harness.train.ranks.worker import connection_of
from tests.simulator.endpoint import Body, purpose, response, serving
from tests.simulator.served import BRIEF, connected, users


@contextlib.contextmanager
def relayed(client: EndpointClient, lines: int = 1) -> Iterator[list[RelayLine]]:
    """Lines to a client, as other processes have them."""
    pairs = [socket.socketpair() for _ in range(lines)]
    for ours, _ in pairs:
        Relay(connection_of(ours), client)
    try:
        yield [RelayLine(connection_of(theirs)) for _, theirs in pairs]
    finally:
        for ours, theirs in pairs:
            ours.shutdown(socket.SHUT_RDWR)
            ours.close()
            theirs.close()


@pytest.fixture(scope="module")
def far_users() -> Iterator[RelayedUsers]:
    with serving() as endpoint, connected(endpoint.url) as client, relayed(client) as (line,):
        yield RelayedUsers(BRIEF, line)


class TestRelayed(SimulatorContract):
    @pytest.fixture
    def simulator(self, far_users: RelayedUsers) -> RelayedUsers:
        return far_users


def test_what_several_processes_ask_at_once_is_asked_once() -> None:
    with (
        serving(delay_s=0.05) as endpoint,
        connected(endpoint.url) as client,
        relayed(client, 3) as lines,
    ):
        talks: list[object] = []

        def talk(line: RelayLine) -> None:
            talks.append(converse(RelayedUsers(BRIEF, line), key()))

        threads = [threading.Thread(target=talk, args=(line,)) for line in lines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asked = len(endpoint.bodies)
        talks.append(converse(users(client), key()))
        assert len(endpoint.bodies) == asked
    assert len(talks) == 4
    assert all(talk == talks[0] for talk in talks)


def test_an_endpoint_that_stays_away_ends_whoever_asked() -> None:
    def script(number: int, body: Body) -> bytes | None:
        away = purpose(body) == "appraise"
        return response("", "503 Service Unavailable") if away else None

    with (
        serving(script) as endpoint,
        connected(endpoint.url, retries=0, outage_s=0.2) as client,
        relayed(client) as (line,),
    ):
        heard: list[Outage] = []
        client.wait_out_outages(probe_request(), heard.append)
        simulator = RelayedUsers(BRIEF, line)
        with pytest.raises(EndpointError, match=r"must answer within 0.2 s \(simulator.outage_s\)"):
            converse(simulator, key())
        assert heard == [], "news are told where rank 0 waits, never in a thread of the relay"
        client.tell_news()
        assert [outage.answered for outage in heard] == [False, False]


def test_a_bug_where_the_endpoint_is_asked_has_its_traceback() -> None:
    with serving() as endpoint, connected(endpoint.url) as client, relayed(client) as (line,):
        with pytest.raises(RelayError, match="AttributeError: ") as raised:
            line.ask(BRIEF, keys=("no key",))()
        assert "Traceback" in raised.value.__notes__[0]
        turn = RelayedUsers(BRIEF, line).open([key()])[0]
        assert turn.text, "the line goes on"


def test_a_process_without_the_one_that_asks_does_not_wait() -> None:
    ours, theirs = socket.socketpair()
    line = RelayLine(connection_of(theirs))
    pending = line.ask(BRIEF, keys=(key(),))
    ours.close()
    with pytest.raises(RelayError, match="the process that asks the endpoint is gone"):
        pending()
    with pytest.raises(RelayError, match="is gone"):
        line.ask(BRIEF, keys=(key(),))()
    theirs.close()


def test_a_process_that_does_not_read_its_answers_keeps_no_other_waiting() -> None:
    """Its socket is full after some of them; the client's thread is not held up."""
    many = tuple(key(sample) for sample in range(200))
    ours, deaf = socket.socketpair()
    with serving() as endpoint, connected(endpoint.url) as client, relayed(client) as (line,):
        Relay(connection_of(ours), client)
        with connection_of(deaf) as asking:
            for number in range(40):
                asking.send(UserQuery(number, BRIEF, keys=many))
            assert converse(RelayedUsers(BRIEF, line), key(0, 1))[-1].ended is not None
        ours.shutdown(socket.SHUT_RDWR)
    ours.close()
    deaf.close()
