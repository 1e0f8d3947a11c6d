"""A vLLM server's address, asked before anything is loaded: no torch is imported here."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError

REACH_S = 4.0
"""For the one question that is asked before anything is loaded."""
NO_ANSWER = (OSError, ValueError, KeyError, TypeError, IndexError)
"""What asking may raise, and reading an answer that is none."""


def check(config: RunConfig) -> None:
    """Raise what `engines.check` raises, and StoppedError if no server answers at its address."""
    engine_choice.check(config)
    if engine_choice.chosen(config) == engine_choice.SERVED:
        reach(config.trainer.engine_url)


def reach(url: str) -> str:
    """Name of the model that is served. Raises StoppedError if nobody answers at `url`."""
    try:
        return str(answer(f"{url.rstrip('/')}/v1/models", REACH_S)["data"][0]["id"])
    except NO_ANSWER as error:
        raise lost(url, error) from error


def answer(url: str, timeout_s: float, asked: dict[str, Any] | None = None) -> Any:
    """What is answered to `asked`, or to nothing asked. Raises OSError and ValueError."""
    body = None if asked is None else json.dumps(asked).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout_s) as response:
        return json.load(response)


def lost(url: str, error: Exception) -> StoppedError:
    told = " ".join(str(error).split())[:200] or type(error).__name__
    return StoppedError(
        f"trainer.engine_url: {url} must answer as `vllm serve` does, got: {told}; "
        "once it does, `harness resume` goes on"
    )
