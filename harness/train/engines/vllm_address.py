"""The HTTP side of a vLLM server; no torch is imported here, so that it can be asked first."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError

REACH_S = 4.0
"""Timeout of the first request, before anything is loaded."""
NO_ANSWER = (OSError, ValueError, KeyError, TypeError, IndexError)
"""Raised by a request, or by reading an answer that is not vLLM's."""


def check(config: RunConfig) -> None:
    """Raise ConfigError for an engine that this run cannot have, StoppedError if none answers."""
    engine_choice.check(config)
    if engine_choice.chosen(config) == engine_choice.SERVED:
        reach(engine_choice.address(config))


def reach(url: str) -> str:
    """The name of the served model. Raises StoppedError if nothing answers at `url`."""
    try:
        return str(answer(f"{url.rstrip('/')}/v1/models", REACH_S)["data"][0]["id"])
    except NO_ANSWER as error:
        raise lost(url, error) from error


def answer(url: str, timeout_s: float, body: dict[str, Any] | None = None) -> Any:
    """The JSON answer to a POST of `body`, or to a GET. Raises OSError or ValueError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout_s) as response:
        return json.load(response)


def lost(url: str, error: Exception) -> StoppedError:
    """The error for a server that failed with `error`."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return StoppedError(
        f"trainer.engine_url: {url} must answer as `vllm serve` does, got: {reason}; "
        "once it does, `harness resume` goes on"
    )
