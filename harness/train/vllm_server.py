"""A policy that speaks through `vllm serve`: turns over HTTP, weights over TRL's client."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from harness.config import RunConfig
from harness.errors import StoppedError
from harness.train.engine import Ask, PromptedSampler, TurnSampler, in_time
from harness.train.plain_weights import plain_weights
from harness.train.sampler import Said

REACH_S = 4.0
"""For the one question that is asked before anything is loaded."""
AT_ONCE = 256
"""Requests that are under way; the server makes one batch of them."""


class Completions:
    """Turns from a server, each conversation a request of its own: a request has but one seed."""

    def __init__(self, url: str, deadline_s: float) -> None:
        """Raises StoppedError if nobody answers at `url`."""
        self._url, self._deadline_s = url.rstrip("/"), deadline_s
        self._model = reach(url)

    def __call__(self, ask: Ask) -> list[Said]:
        """Raises StoppedError where the server fails one of them."""
        with ThreadPoolExecutor(min(AT_ONCE, len(ask.prompts))) as pool:
            return list(pool.map(partial(self._turn, ask), ask.prompts, ask.seeds))

    def _turn(self, ask: Ask, prompt: list[int], seed: int) -> Said:
        asked = {
            "model": self._model,
            "prompt": prompt,
            "seed": seed,
            "max_tokens": ask.limit,
            "temperature": ask.temperature,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "logprobs": 0,  # of the token drawn alone
            "stop_token_ids": [ask.end],
            "ignore_eos": True,  # others that a model's own config may name
            "return_token_ids": True,
        }
        try:
            choice = _answer(f"{self._url}/v1/completions", self._deadline_s, asked)["choices"][0]
            return Said(choice["token_ids"], choice["logprobs"]["token_logprobs"])
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise _lost(self._url, error) from error


class Served:
    """vLLM on GPUs of its own."""

    corrected = True

    def __init__(self, model: Any, config: RunConfig, hung: Callable[[str], None]) -> None:
        """`hung` ends the run. Raises StoppedError if the server does not take weights."""
        from harness.train.trl_client import WeightLine

        self._url, self._hung = config.trainer.engine_url, hung
        self._deadline_s = config.trainer.engine_deadline_s
        self._complete = Completions(self._url, self._deadline_s)
        with self._in_time():
            self._line = WeightLine(self._url, model.device, lambda: plain_weights(model))

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        with self._in_time():
            self._line.send()
        yield

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return PromptedSampler(self._in_time_complete, count, end, temperature)

    def close(self) -> None:
        self._line.close()

    def _in_time_complete(self, ask: Ask) -> list[Said]:
        with in_time(self._deadline_s, self._hung):
            return self._complete(ask)

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """For what TRL's client does, whose errors are of many kinds."""
        try:
            with in_time(self._deadline_s, self._hung):
                yield
        except Exception as error:
            raise _lost(self._url, error) from error


def reach(url: str) -> str:
    """Name of the model that is served. Raises StoppedError if nobody answers at `url`."""
    try:
        return str(_answer(f"{url.rstrip('/')}/v1/models", REACH_S)["data"][0]["id"])
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise _lost(url, error) from error


def _answer(url: str, timeout_s: float, asked: dict[str, Any] | None = None) -> Any:
    """What is answered to `asked`, or to nothing asked. Raises OSError and ValueError."""
    body = None if asked is None else json.dumps(asked).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout_s) as response:
        return json.load(response)


def _lost(url: str, error: Exception) -> StoppedError:
    told = " ".join(str(error).split())[:200] or type(error).__name__
    return StoppedError(
        f"trainer.engine_url: {url} must answer as `vllm serve` does, got: {told}; "
        "once it does, `harness resume` goes on"
    )
