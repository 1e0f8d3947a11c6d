"""An engine behind `vllm serve`: turns over HTTP, weights by NCCL through TRL's client.

TRL's client supports all three weight-update APIs that vLLM has had. Sending weights is untested
here, since it needs two GPUs.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from torch import Tensor

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.train.engines.engine import (
    PromptedSampler,
    TurnRequest,
    TurnSampler,
    in_time,
    plain_weights,
)
from harness.train.engines.sampler import SampledTurn
from harness.train.engines.vllm_address import NO_ANSWER, answer, reach, server_error
from harness.utils.pending import AwaitableResult

AT_ONCE = 256
"""Largest number of concurrent requests, which the server batches."""
CLIENT_ERRORS = (OSError, RuntimeError, KeyError)
"""Errors of TRL's client for connections, NCCL and unexpected answers. For a status other than 200
it raises a bare Exception."""


class ServerSampler:
    """Draws turns from a server with one request per conversation, since a request has one seed."""

    def __init__(self, url: str, deadline_s: float, on_hang: Callable[[str], None]) -> None:
        """`on_hang` ends the run if a turn takes longer than `deadline_s`.

        Raises StoppedError if nothing answers at `url`.
        """
        self._url, self._deadline_s, self._on_hang = url.rstrip("/"), deadline_s, on_hang
        self._pool = ThreadPoolExecutor(AT_ONCE, "turn")
        self.model = reach(url)
        """Name of the served model or adapters to draw with."""

    def __call__(self, request: TurnRequest) -> list[SampledTurn]:
        """Draw every turn. Raises StoppedError if the server fails one of them."""
        return self.begin(request)()

    def begin(self, request: TurnRequest) -> AwaitableResult[list[SampledTurn]]:
        """Begin every turn; the result raises StoppedError if the server fails one of them."""
        draw_turn = partial(self._turn, request, self.model)
        futures = tuple(map(partial(self._pool.submit, draw_turn), request.prompts, request.seeds))

        def finished() -> list[SampledTurn]:
            wait(futures)  # also after a failure, since the others still run
            return [turn.result() for turn in futures]

        return AwaitableResult(finished, futures)

    def close(self) -> None:
        """Cancel the turns that have not begun yet, and wait for the others, each until its
        deadline: after an error of one, the server must not draw on for a run that has ended.
        """
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _turn(self, request: TurnRequest, model: str, prompt: list[int], seed: int) -> SampledTurn:
        body = {
            "model": model,
            "prompt": prompt,
            "seed": seed,
            "max_tokens": request.limit,
            "temperature": request.temperature,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "logprobs": 0,  # only of the drawn token
            "stop_token_ids": [request.end],
            "ignore_eos": True,  # a model's own config may name other end tokens
            "return_token_ids": True,
        }
        try:
            with in_time(self._deadline_s, self._on_hang):
                response = answer(f"{self._url}/v1/completions", self._deadline_s, body)
            choice = response["choices"][0]
            return SampledTurn(choice["token_ids"], choice["logprobs"]["token_logprobs"])
        except NO_ANSWER as error:
            raise server_error(self._url, error) from error


class ServedEngine:
    """vLLM on other GPUs."""

    corrected = True
    together = True

    def __init__(self, model: Any, config: RunConfig, on_hang: Callable[[str], None]) -> None:
        """`on_hang` ends the run. Raises StoppedError if the server does not accept weights."""
        self._url, self._on_hang = engine_choice.address(config), on_hang
        self._deadline_s = config.trainer.engine_deadline_s
        self._draw = ServerSampler(self._url, self._deadline_s, on_hang)
        with self._in_time():
            self._sender = WeightSender(self._url, model.device, lambda: plain_weights(model))

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        with self._in_time():
            self._sender.send()
        yield

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return PromptedSampler(self._draw.begin, count, end, temperature)

    def speaking(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def close(self) -> None:
        self._draw.close()
        self._sender.close()

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        with client_errors_as_stops(self._url), in_time(self._deadline_s, self._on_hang):
            yield


@contextlib.contextmanager
def client_errors_as_stops(url: str) -> Iterator[None]:
    """Turn errors of TRL's client in the block into StoppedError, since the server is lost.

    Any other error is a bug and propagates.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, CLIENT_ERRORS) or type(error) is Exception:
            raise server_error(url, error) from error
        raise


def free_port() -> int:
    """Return a free port of this machine; each run sends its weights through its own port."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


class WeightSender:
    """Sends weights from the trainer's GPU to those of a server."""

    def __init__(self, url: str, device: Any, weights: Callable[[], Iterator[tuple[str, Tensor]]]):
        """`weights` is called for each transfer, and once here for names, dtypes and shapes."""
        self._weights = weights
        # otherwise TRL's transport would send the ~/.netrc credentials of the configured host
        os.environ["NETRC"] = os.devnull
        from trl.generation.vllm_client import VLLMClient  # slow import, not needed for a refusal

        self._client = VLLMClient(base_url=url, group_port=free_port())
        self._client.init_communicator(device)
        self._shapes = [
            (name, str(weight.dtype).removeprefix("torch."), list(weight.shape))
            for name, weight in weights()
        ]

    def send(self) -> None:
        """Send the current weights and reset the server's prefix cache."""
        self._client.update_named_params(self._shapes, self._weights())
        self._client.reset_prefix_cache()

    def close(self) -> None:
        self._client.close_communicator()
