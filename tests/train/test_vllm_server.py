"""A policy's turns from a server: what is asked of it, and a server that goes or hangs.

Here the server is an HTTP one of our own that knows vLLM's two addresses. A real one is in
test_vllm.py, where vLLM is installed.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from harness.errors import StoppedError
from harness.train.engines.engine import TurnRequest, in_time
from harness.train.engines.vllm_address import reach
from harness.train.engines.vllm_server import ServerSampler, client_errors_as_stops, free_port

ASK = TurnRequest([[5, 6], [7]], [11, 12], 4, 3, 1.5)


@dataclass
class Server:
    """The server as a test sees it."""

    url: str = ""
    hangs_s: float = 0.0
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """It says the last id of the prompt once more, with a log-probability of -seed."""
    seen = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"data": [{"id": "policy"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.asked.append(body)
            time.sleep(seen.hangs_s)
            logp = {"token_logprobs": [-float(body["seed"])]}
            self._answer({"choices": [{"token_ids": body["prompt"][-1:], "logprobs": logp}]})

        def _answer(self, values: dict[str, Any]) -> None:
            data = json.dumps(values).encode()
            with contextlib.suppress(OSError):
                self.send_response(seen.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield seen
        finally:
            server.shutdown()


def test_each_conversation_is_a_request_with_a_seed_of_its_own() -> None:
    with serving() as server:
        turns = ServerSampler(server.url, 10, print)(ASK)
    assert [(turn.ids, turn.logp) for turn in turns] == [([6], [-11.0]), ([7], [-12.0])]
    first = min(server.asked, key=lambda body: body["seed"])
    wanted = {"model": "policy", "prompt": [5, 6], "seed": 11, "max_tokens": 4, "temperature": 1.5,
              "stop_token_ids": [3], "ignore_eos": True, "logprobs": 0, "top_p": 1.0}  # fmt: skip
    assert {key: first[key] for key in wanted} == wanted


def test_weights_of_each_run_go_through_a_port_of_its_own() -> None:
    """Two groups of NCCL on TRL's one default port end the later one."""
    vllm_client = pytest.importorskip("trl.generation.vllm_client")
    taken = inspect.signature(vllm_client.VLLMClient.__init__).parameters
    assert "group_port" in taken, "which WeightSender gives"
    with socket.socket() as mine:
        mine.bind(("", free_port()))
        mine.listen()
        assert free_port() not in (mine.getsockname()[1], taken["group_port"].default)


def test_an_address_where_nobody_answers_is_reported_at_once() -> None:
    with serving() as server:
        url = server.url
    with pytest.raises(
        StoppedError, match=rf"trainer.engine_url: {url} must answer as `vllm serve`"
    ):
        reach(url)


def test_turns_that_are_asked_for_meanwhile_are_drawn_beside_those_under_way() -> None:
    with serving() as server:
        server.hangs_s = 1.0
        completions = ServerSampler(server.url, 10, print)
        began = time.monotonic()
        first = completions.begin(ASK)
        second = completions.begin(replace(ASK, prompts=[[9]], seeds=[13]))
        assert [first.is_ready, second.is_ready] == [False, False]
        assert [turn.ids for turn in [*second(), *first()]] == [[9], [6], [7]]
        assert time.monotonic() - began < 1.9, "the one did not wait for the other"
        completions.close()


def test_a_sampler_that_is_closed_draws_no_more() -> None:
    before = set(threading.enumerate())
    with serving() as server:
        server.hangs_s = 0.3
        completions = ServerSampler(server.url, 10, print)
        turns = completions.begin(ASK)
        completions.close()
        assert turns.is_ready
        begun_here = set(threading.enumerate()) - before
        assert not any(thread.name.startswith("turn") for thread in begun_here)


@pytest.mark.parametrize("status", [500, 404])
def test_a_server_that_fails_in_mid_run_stops_it(status: int) -> None:
    with serving() as server:
        complete = ServerSampler(server.url, 10, print)
        server.status = status
        with pytest.raises(
            StoppedError, match=rf"got: HTTP Error {status}: .*`harness resume` goes"
        ):
            complete(ASK)


def test_a_server_that_hangs_is_given_up_on() -> None:
    complaints: list[str] = []
    with serving() as server:
        complete = ServerSampler(server.url, 0.1, print)
        server.hangs_s = 0.4
        with pytest.raises(StoppedError, match="got: timed out"), in_time(0.08, complaints.append):
            complete(ASK)
    assert complaints == ["after 0.08 s of waiting for vLLM (trainer.engine_deadline_s)"]


@pytest.mark.parametrize(
    "error", [ConnectionError("refused"), RuntimeError("NCCL"), KeyError("world_size"),
              Exception("Request failed: 500, no")],
)  # fmt: skip
def test_an_error_of_the_weight_client_counts_as_a_lost_server(error: Exception) -> None:
    with (
        pytest.raises(StoppedError, match=r"^trainer\.engine_url: "),
        client_errors_as_stops("http://here"),
    ):
        raise error


@pytest.mark.parametrize("error", [TypeError("ours"), AttributeError("ours"), ValueError("ours")])
def test_a_fault_of_the_program_is_not_put_down_to_the_server(error: Exception) -> None:
    with pytest.raises(type(error), match=r"^ours$"), client_errors_as_stops("http://here"):
        raise error
