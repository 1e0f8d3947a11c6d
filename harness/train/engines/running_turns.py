"""The turns that are drawn in vLLM's continuous batch.

vllm is not imported here, so that this can be tested without it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

from harness.train.engines.engine import TurnRequest
from harness.train.engines.sampler import SampledTurn
from harness.utils.pending import AwaitableResult


class RunningTurns:
    """The turns in vLLM's continuous batch: a turn joins at any time and leaves when it ends."""

    def __init__(
        self,
        engine: Any,
        sampling: Callable[[TurnRequest, int], Any],
        in_step: Callable[[float], AbstractContextManager[None]],
    ) -> None:
        """`engine`: vLLM's LLMEngine. `sampling`: returns vLLM's SamplingParams of a request's
        conversation, from its seed. `in_step`: returns a context for a step, from the seconds
        that steps have taken since a turn last ended, or began in an empty batch. What the run does
        between steps, such as to judge replies, is not vLLM's time.
        """
        self._engine, self._sampling, self._in_step = engine, sampling, in_step
        self._names = map(str, itertools.count())
        self._open: dict[str, Future[SampledTurn]] = {}
        self._drawing_s = 0.0

    def begin(self, request: TurnRequest) -> AwaitableResult[list[SampledTurn]]:
        """Begin a turn for each prompt. Raises ValueError if one does not fit."""
        if not self._open:
            self._drawing_s = 0.0
        futures: list[Future[SampledTurn]] = []
        for ids, seed in zip(request.prompts, request.seeds, strict=True):
            name = next(self._names)
            prompt = {"prompt_token_ids": ids}
            self._engine.add_request(name, prompt, self._sampling(request, seed))
            futures.append(Future())
            self._open[name] = futures[-1]

        def wait() -> list[SampledTurn]:
            while not all(turn.done() for turn in futures):
                self.step()
            return [turn.result() for turn in futures]

        return AwaitableResult(wait, tuple(futures), work=self.step)

    def step(self) -> bool:
        """Draw a token of each turn; return False if there are no turns."""
        if not self._open:
            return False
        begin_s = time.monotonic()
        with self._in_step(self._drawing_s):
            outputs = self._engine.step()
        self._drawing_s += time.monotonic() - begin_s
        for output in outputs:
            if output.finished:
                self._open.pop(output.request_id).set_result(_turn(output.outputs[0]))
                self._drawing_s = 0.0
        return True


def _turn(output: Any) -> SampledTurn:
    ids = list(output.token_ids)
    logp = [by_token[token].logprob for token, by_token in zip(ids, output.logprobs, strict=True)]
    return SampledTurn(ids, logp)
