"""Lines and users that the tests of the served simulator share."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, UserTurn
from harness.simulator.served.client import EndpointClient, client_for
from harness.simulator.served.completions import LARGEST_BYTES
from harness.simulator.served.simulator import ServedSimulator
from harness.testing.simulator_contract import converse
from harness.trust import permission
from tests.simulator.endpoint import Script, completion, response, serving

BRIEF = DifficultyConfig(turn_cap=3)


def config(url: str, **values: Any) -> SimulatorConfig:
    """Return the config of an impatient user: tests do not wait."""
    waits = {"backoff_s": 0.0, "deadline_s": 10.0, "outage_s": 0.0}
    keys = {"model": "m", "retries": 2, **waits, **values}
    return SimulatorConfig("served", "served", url, **keys)


@contextlib.contextmanager
def connected(url: str, **values: Any) -> Iterator[EndpointClient]:
    """Yield a client that may send its key, and close it at the end."""
    simulator = config(url, **values)
    line = client_for(simulator)
    with permission.temporarily_granted(
        [simulator.required_grant] if simulator.required_grant else []
    ):
        try:
            yield line
        finally:
            line.close()


def users(line: EndpointClient, level: DifficultyConfig = BRIEF) -> ServedSimulator:
    simulator = make(line.config, level)
    assert isinstance(simulator, ServedSimulator)
    return simulator


def talk_with(script: Script, level: DifficultyConfig = BRIEF, **values: Any) -> Any:
    """Return the turns of one conversation with an endpoint of that script, and what it cost."""
    with serving(script) as endpoint, connected(endpoint.url, **values) as line:
        turns: list[UserTurn] = converse(users(line, level), ConversationKey(1, 1, 0, 0))
        return turns, line.take_usage(), endpoint


def row(number: int, **values: object) -> dict[str, object]:
    return {"id": f"u{number}", "persona": f"P{number}", "facts": [f"Fact {number}."], **values}


def written(path: Path, *rows: Mapping[str, object] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def appraised(**values: object) -> bytes:
    good = {"reason": "So it felt.", "target_fit": "partly", "change": 5}
    return completion(json.dumps(good | values))


WHOLE = completion("{}")


HUGE = b"x" * (LARGEST_BYTES + 1)


APPRAISAL_FAULTS = {
    "closed without a word": (b"", "connection"),
    "cut in the body": (WHOLE[:-9], "connection"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "connection"),
    "500": (response("boom", "500 Internal Server Error"), "server"),
    "503": (response("", "503 Service Unavailable"), "server"),
    "429": (response("slow down", "429 Too Many Requests"), "rate_limit"),
    "400": (response('{"error": "bad schema"}', "400 Bad Request"), "request"),
    "404": (response("no such model", "404 Not Found"), "request"),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", "malformed"),
    "redirect": (response("", "302 Found", Location="http://127.0.0.1:9/v1"), "redirect"),
    "huge, announced": (response(HUGE), "oversized"),
    "huge, not announced": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + HUGE, "oversized"),
    "huge, of an error": (response(HUGE, "500 Internal Server Error"), "server"),
    "compressed": (response(gzip.compress(b" " * 9_000_000), Content_Encoding="gzip"), "malformed"),
    "a page": (response("<html>Sign in</html>", Content_Type="text/html"), "malformed"),
    "an empty body": (response(""), "malformed"),
    "a list": (response("[]"), "malformed"),
    "no choices": (response('{"choices": []}'), "malformed"),
    "null content": (completion(None), "empty"),
    "no content": (completion(""), "empty"),
    "cut JSON": (completion('{"reason": "so', finish="length"), "malformed"),
    "broken JSON": (completion('{"reason": '), "malformed"),
    "deep JSON": (completion("[" * 100_000), "malformed"),
    "prose": (completion("The mood rises by 5."), "malformed"),
    "no reason": (appraised(reason=None), "malformed"),
    "no fit": (appraised(target_fit="very"), "malformed"),
    "no change": (appraised(change=None), "out_of_range"),
    "change in words": (appraised(change="5"), "out_of_range"),
    "change true": (appraised(change=True), "out_of_range"),
    "change 1e9": (appraised(change=1_000_000_000), "out_of_range"),
    "change off the lattice": (appraised(change=7), "out_of_range"),
    "change NaN": (appraised(change=float("nan")), "out_of_range"),
    "up against the hope": (appraised(target_fit="against", change=5), "contradictory"),
    "down with all they hoped for": (appraised(target_fit="fully", change=-5), "contradictory"),
    "up and dismissed": (appraised(reason="They feel dismissed by this."), "contradictory"),
}  # fmt: skip


TRIES = {"request": 1, "redirect": 1, "oversized": 2}
