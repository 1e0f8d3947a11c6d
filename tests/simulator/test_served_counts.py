"""Numbers of the endpoint that cannot be: none ends the run, and none makes it wait for ever."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from harness.simulator.served.completions import retry_after_s
from harness.simulator.served.usage import Limits
from tests.simulator.endpoint import Body, completion, play, response
from tests.simulator.served import config, talk_with


def counted(body: Body, tokens: object) -> bytes:
    """A good answer that cost so much, by its own word."""
    content = json.loads(completion(play(body)).split(b"\r\n\r\n", 1)[1])
    return response(json.dumps(content | {"usage": {"total_tokens": tokens}}))


@pytest.mark.parametrize(
    "tokens", [10**400, 10**7 + 1, -5, 1e9, True, "7", None], ids=lambda t: repr(t)[:9]
)
def test_an_impossible_token_count_is_not_counted(tokens: object) -> None:
    turns, tally, _ = talk_with(lambda n, b: counted(b, tokens), tokens_per_minute=10**9)
    assert turns[-1].ended == "cap"
    assert tally.tokens == 0


@pytest.mark.parametrize(
    "text",
    [
        *("Mon, 01 Jan 2026 00:00:00 +99999999999999999999", "Mon, 01 Jan 99999 00:00:00 GMT"),
        *("Mon, 01 Jan 2026 00:00:00 -9959", "Fri, 31 Dec 9999 23:59:59 -2359", "1 1 1 1", ""),
        *("Mon, 01 Jan 0001 00:00:00 +2359", "nan", "inf", "9" * 5000),
    ],
)
def test_an_impossible_retry_date_asks_for_no_impossible_wait(text: str) -> None:
    wait_s = retry_after_s({"retry-after": text})
    assert wait_s is None or 0 <= wait_s < 10**12


def test_calls_that_waited_for_a_slow_one_keep_to_the_limits_too() -> None:
    async def admitted() -> list[float]:
        limits, at_s = Limits(config("http://h/v1", concurrency=1, requests_per_minute=1200)), []

        async def call(seconds: float) -> None:
            async with limits.call(1):
                at_s.append(time.monotonic())
                await asyncio.sleep(seconds)

        await asyncio.gather(call(0.5), *(call(0) for _ in range(6)))
        return at_s

    _, first, *_, last = asyncio.run(admitted())
    assert last - first > 0.22, "five waits of 0.05 s at 1,200 a minute"


def test_a_false_token_count_delays_no_call_longer_than_a_true_one_could() -> None:
    """10 million tokens at 200 million a minute would be 3 s of waiting after each call."""
    began = time.monotonic()
    turns, tally, _ = talk_with(lambda n, b: counted(b, 10**7), tokens_per_minute=2 * 10**8)
    assert turns[-1].ended == "cap"
    assert (tally.calls, tally.tokens) == (6, 6 * 10**7)
    assert time.monotonic() - began < 3
