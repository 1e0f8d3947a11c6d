"""Every way an endpoint can fail: tried again within a budget, then typed; never a crash."""

from __future__ import annotations

import json
import math
import random
import re
import time
from email.utils import formatdate

import pytest

from harness.config.run import DifficultyConfig
from harness.config.simulator import SIMULATOR_FAULTS
from harness.errors import ConfigError, EndpointError
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.served import answers
from harness.simulator.served.completions import Request, retry_after_s
from harness.simulator.served.faults import EndpointFault
from harness.simulator.served.simulator import check_endpoint
from harness.testing.simulator_contract import REPLIES, converse, key
from tests.simulator.endpoint import DRIP, HANG, Body, completion, data, purpose, response, serving
from tests.simulator.served import APPRAISAL_FAULTS, BRIEF, TRIES, connected, talk_with, users


@pytest.mark.parametrize("name", APPRAISAL_FAULTS)
def test_a_fault_that_stays_ends_the_conversation_typed_and_without_reward(name: str) -> None:
    wire, kind = APPRAISAL_FAULTS[name]
    turns, tally, endpoint = talk_with(lambda n, b: wire if purpose(b) == "appraise" else None)
    last = turns[-1]
    assert (last.ended, last.why, last.change, last.text) == ("failed", {"fault": kind}, None, "")
    assert math.isnan(last.reported_emotion)
    assert last.emotion == 40
    tried = TRIES.get(kind, 3)
    assert tally.given_up == {kind: 1}
    assert tally.retries.total() == tried - 1
    again_without_lengths = name == "400"  # which may be of a keyword of the schema
    assert sum(purpose(b) == "appraise" for b in endpoint.bodies) == tried + again_without_lengths


@pytest.mark.parametrize("name", [n for n, f in APPRAISAL_FAULTS.items() if TRIES.get(f[1], 3) > 1])
def test_a_fault_that_passes_leaves_no_trace_but_in_the_count(name: str) -> None:
    wire, kind = APPRAISAL_FAULTS[name]
    met: list[int] = []

    def once(number: int, body: Body) -> bytes | None:
        if purpose(body) == "appraise" and not met:
            met.append(number)
            return wire
        return None

    turns, tally, _ = talk_with(once)
    assert turns[-1].ended == "cap"
    assert tally.retries == {kind: 1}
    assert not tally.given_up


def test_a_fault_says_which_value_of_an_appraisal_is_wrong() -> None:
    good = {"reason": "So it felt.", "target_fit": "partly", "change": 5}
    for field, rule in (
        ("reason", "malformed: reason must be text, got None"),
        ("target_fit", "malformed: target_fit must be one of against, none, partly, fully, got No"),
        ("change", "out_of_range: change must be one of [0, 5], got None"),
    ):
        with pytest.raises(EndpointFault, match=re.escape(rule)):
            answers.appraisal(json.dumps(good | {field: None}), [0, 5])


@pytest.mark.parametrize("say", ["", "   ", "...", "\u200b\u202e"])
def test_a_reply_without_words_is_empty(say: str) -> None:
    silent = completion(json.dumps({"say": say}))
    turns, _, _ = talk_with(lambda n, b: silent if purpose(b) == "reply" else None)
    assert turns[-1].why == {"fault": "empty"}


@pytest.mark.parametrize("wire", [HANG, DRIP])
def test_the_deadline_is_for_the_whole_call(wire: str) -> None:
    began = time.monotonic()
    turns, tally, _ = talk_with(
        lambda n, b: wire if purpose(b) == "appraise" else None, retries=1, deadline_s=0.3
    )
    assert turns[-1].why == {"fault": "timeout"}
    assert tally.retries == {"timeout": 1}
    assert time.monotonic() - began < 10


def test_an_opening_that_fails_is_a_failed_conversation_too() -> None:
    down = response("", "503 Service Unavailable")
    turns, tally, _ = talk_with(lambda n, b: down if purpose(b) == "open" else None)
    assert [turn.ended for turn in turns] == [None, "failed"]
    assert turns[0].text == "..."
    assert turns[1].why == {"fault": "server"}
    assert tally.given_up == {"server": 1}


def test_an_endpoint_that_is_gone_is_a_fault_and_at_the_start_the_end() -> None:
    with serving() as endpoint:
        url = endpoint.url
    with connected(url) as line:
        assert converse(users(line), key())[-1].why == {"fault": "connection"}
        with pytest.raises(EndpointError, match=rf"simulator.base_url: {url} must answer as 'm'"):
            check_endpoint(line)


def test_retry_after_is_waited_for_up_to_a_minute() -> None:
    assert retry_after_s({"retry-after": "2"}) == 2
    assert retry_after_s({"retry-after": "-5"}) == 0
    in_a_minute = retry_after_s({"retry-after": formatdate(time.time() + 60)})
    assert in_a_minute is not None
    assert 50 < in_a_minute < 61
    assert retry_after_s({"retry-after": "soon"}) is None
    wait = response("", "429 Too Many Requests", Retry_After="0.4")
    began = time.monotonic()
    turns, _, _ = talk_with(lambda n, b: wait if n == 1 else None)
    assert time.monotonic() - began >= 0.4
    assert turns[-1].ended == "cap"
    with connected("http://127.0.0.1:9/v1", backoff_s=0.5) as line:
        assert line._wait_s(1, 86_400.0) == 60
        waits = [line._wait_s(2, None) for _ in range(99)]
        assert 0.5 <= min(waits) < max(waits) <= 1.5


def test_a_key_goes_nowhere_but_to_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-geheim")
    with serving() as other:
        away = response("", "307 Temporary Redirect", Location=other.url)
        _, _, endpoint = talk_with(lambda n, b: away, api_key_env="A_KEY")
        assert endpoint.headers[0]["authorization"] == "bearer sk-geheim"
        assert other.bodies == []
    echo = response("who is sk-geheim?", "401 Unauthorized")
    with (
        serving(lambda n, b: echo) as endpoint,
        connected(endpoint.url, api_key_env="A_KEY") as line,
        pytest.raises(ConfigError, match="got request: 401 who is KEY"),
    ):
        check_endpoint(line)
    for value, rule in (("", "the key, not set"), ("sk-ü", "one line of ASCII, got 4 characters")):
        monkeypatch.setenv("A_KEY", value)
        with (
            connected("http://127.0.0.1:9/v1", api_key_env="A_KEY") as line,
            pytest.raises(ConfigError, match=f"the variable A_KEY must hold {rule}"),
        ):
            check_endpoint(line)


def test_a_bug_of_ours_below_the_client_is_a_traceback_and_no_fault() -> None:
    request = Request("open", ("nobody",), "Hello.", {}, {"enum": {"a set": {"is no JSON"}}})
    with (
        serving() as endpoint,
        connected(endpoint.url) as line,
        pytest.raises(TypeError, match="not JSON serializable"),
    ):
        line.check(request, str)
    assert endpoint.bodies == []


@pytest.mark.parametrize("proxy", ["http://\x01:80", "gopher://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_the_users_to_mend(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with (
        connected("http://example.invalid/v1") as line,
        pytest.raises(ConfigError, match="must be reached by a proxy that the client can use"),
    ):
        check_endpoint(line)


@pytest.mark.slow
def test_most_conversations_outlast_an_endpoint_that_fails_three_calls_in_ten() -> None:
    wires = [wire for wire, kind in APPRAISAL_FAULTS.values() if TRIES.get(kind, 3) == 3]
    chance = random.Random(3)

    def mixed(number: int, body: Body) -> bytes | None:
        return chance.choice(wires) if chance.random() < 0.3 else None

    keys = [ConversationKey(1, 1, n, 0) for n in range(40)]
    with serving(mixed) as endpoint, connected(endpoint.url, retries=6) as line:
        simulator = users(line, DifficultyConfig(turn_cap=3))
        turns = simulator.open(keys)
        while any(turn.ended is None for turn in turns):
            live = [turn for turn in turns if turn.ended is None]
            replies = [SupporterReply(REPLIES[turn.state.turn]) for turn in live]
            answers = iter(simulator.answer(live, replies))
            turns = [turn if turn.ended else next(answers) for turn in turns]
        tally = line.take_usage()
    assert sum(turn.ended == "failed" for turn in turns) <= 2
    assert 0.2 < tally.retries.total() / tally.calls < 0.4
    assert set(tally.retries) <= set(SIMULATOR_FAULTS)


@pytest.mark.parametrize(
    "limit", ["requests_per_minute", pytest.param("tokens_per_minute", marks=pytest.mark.slow)]
)
def test_rate_limits_delay_calls(limit: str) -> None:
    """Six calls: five waits of 0.1 s at 600 a minute; 100 tokens each at 60,000 a minute."""
    began = time.monotonic()
    rate = {"requests_per_minute": 600, "tokens_per_minute": 60_000}[limit]
    turns, tally, _ = talk_with(lambda n, b: None, BRIEF, **{limit: rate})
    assert turns[-1].ended == "cap"
    assert tally.calls == 6
    assert time.monotonic() - began >= 0.45


def test_no_more_calls_than_the_concurrency_run_at_once() -> None:
    keys = [key(group=n) for n in range(12)]
    with serving(delay_s=0.1) as endpoint, connected(endpoint.url, concurrency=4) as line:
        began = time.monotonic()
        users(line, BRIEF).open(keys)
        asked = len(endpoint.bodies)
        assert time.monotonic() - began >= 0.1 * math.ceil(asked / 4)


def test_a_reply_that_hands_the_supporters_words_back_is_an_echo() -> None:
    def parrot(number: int, body: Body) -> bytes | None:
        if purpose(body) != "reply":
            return None
        return completion(json.dumps({"say": f"{data(body)['talk'][-1]['supporter']} Yes."}))

    turns, tally, _ = talk_with(parrot)
    assert turns[-1].why == {"fault": "echoed"}
    assert tally.retries == {"echoed": 2}
    assert tally.given_up == {"echoed": 1}


def test_an_endpoint_that_refuses_lengths_in_a_schema_is_asked_without_them() -> None:
    def strict(number: int, body: Body) -> bytes | None:
        refused = "maxLength" in json.dumps(body["response_format"])
        return response("maxLength is not permitted", "400 Bad Request") if refused else None

    turns, tally, endpoint = talk_with(strict)
    assert turns[-1].ended == "cap"
    assert not tally.retries
    bounded = ["maxLength" in json.dumps(body["response_format"]) for body in endpoint.bodies]
    assert sum(bounded) == 1


def test_the_reason_is_bounded_by_the_schema() -> None:
    _, _, endpoint = talk_with(lambda n, b: None)
    asked = next(b for b in endpoint.bodies if purpose(b) == "appraise")
    shape = asked["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["reason"] == {"type": "string", "maxLength": 300}
