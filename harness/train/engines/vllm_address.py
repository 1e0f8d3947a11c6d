"""The HTTP side of a vLLM server, without an import of torch, so that it can be checked early."""

from __future__ import annotations

import json
import re
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.config.trainer import SERVERS
from harness.errors import ConfigError, StoppedError
from harness.utils.terminal import shorten_middle

REACH_S = 4.0
"""Timeout of the first requests, before anything is loaded."""
DRAWN_S = 60.0
"""Timeout of one token from a server that may be busy."""
NO_ANSWER = (OSError, HTTPException, ValueError, KeyError, TypeError, IndexError)
"""Errors of a request, and of parsing an answer that is not vLLM's."""
LOAD, UNLOAD = "v1/load_lora_adapter", "v1/unload_lora_adapter"
AT_ONCE = re.compile(r'^vllm:lora_requests_info\{[^}]*max_lora="(\d{1,6})"', re.MULTILINE)
"""The line of /metrics on adapters, present after the first token if adapters are enabled."""
SHARED = (
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve MODEL --enable-lora --max-loras N "
    "--max-lora-rank R"
)
"""The command that starts a server for several runs."""


def check(config: RunConfig) -> None:
    """Raise ConfigError if the run cannot use its engine, StoppedError if no server answers."""
    engine_choice.check(config)
    engine = engine_choice.engine_of(config)
    if engine not in SERVERS:
        return
    url = engine_choice.address(config)
    reach(url)
    shares = takes_adapters(url) and places(url) > 0
    if engine == engine_choice.SERVED and shares:
        raise ConfigError(
            f"trainer.engine_url: {url} must be a server without adapters for "
            f"trainer.engine={engine}, which overwrites its weights, got one whose base other runs "
            f"may share; choose trainer.engine={engine_choice.ADAPTERS}"
        )
    if engine == engine_choice.ADAPTERS and not shares:
        raise ConfigError(
            f"trainer.engine_url: {url} must load adapters while it runs, as `{SHARED}` does, got "
            "a server that does not; start it so, or choose "
            f"trainer.engine={engine_choice.SERVED}"
        )


def reach(url: str) -> str:
    """Return the name of the served model. Raises StoppedError if nothing answers at `url`."""
    return names(url)[0]


def names(url: str, timeout_s: float = REACH_S) -> list[str]:
    """Return the names of the served model and adapters. Raises StoppedError if none answers."""
    try:
        first, *others = answer(f"{_root(url)}/v1/models", timeout_s)["data"]
        return [str(model["id"]) for model in (first, *others)]
    except NO_ANSWER as error:
        raise server_error(url, error) from error


def takes_adapters(url: str) -> bool:
    """Return whether adapters can be loaded while the server runs.

    Such a server rejects an empty load request as invalid; others do not know the path. Raises
    StoppedError if nothing answers at `url`.
    """
    try:
        answer(f"{_root(url)}/{LOAD}", REACH_S, {})
    except HTTPError as error:
        return error.code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    except NO_ANSWER as error:
        raise server_error(url, error) from error
    return False


def places(url: str) -> int:
    """Return how many adapters the server can use at once (its --max-loras); 0 for none.

    The server reports it only after its first token, which is drawn if necessary. Raises
    StoppedError if nothing answers.
    """
    try:
        counts = AT_ONCE.findall(request_text(f"{_root(url)}/metrics"))
        if not counts:
            body = {"model": reach(url), "prompt": [0], "max_tokens": 1}
            answer(f"{_root(url)}/v1/completions", DRAWN_S, body)
            counts = AT_ONCE.findall(request_text(f"{_root(url)}/metrics"))
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return 0
        raise server_error(url, error) from error
    except NO_ANSWER as error:
        raise server_error(url, error) from error
    return max(map(int, counts), default=0)


def answer(url: str, timeout_s: float, body: dict[str, Any] | None = None) -> Any:
    """Return the JSON answer to a POST of `body`, or to a GET. Raises OSError or ValueError."""
    return json.loads(request_text(url, timeout_s, body))


def request_text(url: str, timeout_s: float = REACH_S, body: dict[str, Any] | None = None) -> str:
    """Return the text of the answer to a POST of `body`, or to a GET.

    Raises OSError or ValueError.
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout_s) as response:
        text: str = response.read().decode()
        return text


def _root(url: str) -> str:
    return url.rstrip("/")


def refusal(error: HTTPError) -> str:
    """Return the reason in the body of an HTTP error, in one line."""
    text = error.read().decode(errors="replace")
    try:
        values = json.loads(text)
        text = str(values["error"]["message"])
    except NO_ANSWER:
        pass
    return shorten_middle(" ".join(text.split()), 300) or f"{error.code} {error.reason}"


def server_error(url: str, error: Exception) -> StoppedError:
    """Return the StoppedError for a server that failed with `error`, and close its response."""
    if isinstance(error, HTTPError):
        error.close()
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return StoppedError(
        f"trainer.engine_url: {url} must answer as `vllm serve` does, got: {reason}; "
        "once it does, `harness resume` goes on"
    )
