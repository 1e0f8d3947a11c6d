"""A policy that speaks through `vllm serve`: turns over HTTP, weights over TRL's client."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from torch import Tensor

from harness.config.run import RunConfig
from harness.train.engines.engine import Ask, PromptedSampler, TurnSampler, in_time, plain_weights
from harness.train.engines.sampler import Said
from harness.train.engines.vllm_address import NO_ANSWER, answer, lost, reach

AT_ONCE = 256
"""Requests that are under way; the server makes one batch of them."""
TOLD_BY_CLIENT = (OSError, RuntimeError, KeyError)
"""Of a connection, of NCCL, of an answer that is none of vLLM's; a status that is not 200 it tells
by a bare Exception."""


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
            choice = answer(f"{self._url}/v1/completions", self._deadline_s, asked)["choices"][0]
            return Said(choice["token_ids"], choice["logprobs"]["token_logprobs"])
        except NO_ANSWER as error:
            raise lost(self._url, error) from error


class Served:
    """vLLM on GPUs of its own."""

    corrected = True

    def __init__(self, model: Any, config: RunConfig, hung: Callable[[str], None]) -> None:
        """`hung` ends the run. Raises StoppedError if the server does not take weights."""
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
        with told_by_client(self._url), in_time(self._deadline_s, self._hung):
            yield


@contextlib.contextmanager
def told_by_client(url: str) -> Iterator[None]:
    """Raises StoppedError for what TRL's client raises within: a server that is lost.

    What else goes wrong is a fault of the program.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, TOLD_BY_CLIENT) or type(error) is Exception:
            raise lost(url, error) from error
        raise


class WeightLine:
    """From the trainer's GPU to those of a server."""

    def __init__(self, url: str, device: Any, weights: Callable[[], Iterator[tuple[str, Tensor]]]):
        """`weights` is asked anew each time they are sent, first for what they are like."""
        self._weights = weights
        # TRL's transport would send what ~/.netrc holds for the host that a config names
        os.environ["NETRC"] = os.devnull
        from trl.generation.vllm_client import VLLMClient  # seconds; a refusal needs none of it

        self._client = VLLMClient(base_url=url)
        self._client.init_communicator(device)
        self._like = [
            (name, str(weight.dtype).removeprefix("torch."), list(weight.shape))
            for name, weight in weights()
        ]

    def send(self) -> None:
        """Put the weights in as they are; what was computed with the last ones is forgotten."""
        self._client.update_named_params(self._like, self._weights())
        self._client.reset_prefix_cache()

    def close(self) -> None:
        self._client.close_communicator()
