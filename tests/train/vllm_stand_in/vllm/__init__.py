"""What a run asks of vLLM, done by transformers; nothing of harness is imported.

In a group, ranks meet before each token, as an engine in parts does. With STOPS_IN_TURN=RANK,N the
process of that rank stops in the middle of turn N.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from transformers import AutoConfig, AutoModelForCausalLM

STOPS_AT_TOKEN = 2


@dataclass
class SamplingParams:
    temperature: float
    max_tokens: int
    seed: int
    stop_token_ids: list[int]
    logprobs: int
    ignore_eos: bool
    detokenize: bool
    output_kind: Any


class LLM:
    def __init__(self, model: str, *, tensor_parallel_size: int = 1, **_options: Any) -> None:
        self._model: Any = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))
        self._model.eval().load_weights = self._load
        runner = SimpleNamespace(model=self._model)
        worker = SimpleNamespace(driver_worker=SimpleNamespace(model_runner=runner))
        self.llm_engine = LLMEngine(self._model, _group_of(tensor_parallel_size), worker)

    def reset_prefix_cache(self) -> None: ...

    def _load(self, weights: Any) -> set[str]:
        own, names = dict(self._model.named_parameters()), set()
        for name, weight in weights:
            own[name].data.copy_(weight)
            names.add(name)
        return names


@dataclass
class _Turn:
    ids: list[int]
    options: SamplingParams
    generator: torch.Generator
    drawn: list[int] = field(default_factory=list)
    logprobs: list[dict[int, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        stops = self.drawn[-1] in self.options.stop_token_ids
        return stops or len(self.drawn) == self.options.max_tokens


class LLMEngine:
    """Draws a token of each open turn a step."""

    def __init__(self, model: Any, group: Any, model_executor: Any) -> None:
        self._model, self._group, self.model_executor = model, group, model_executor
        self.engine_core = SimpleNamespace(shutdown=lambda: None)
        self._open: dict[str, _Turn] = {}
        self._batches, self._steps = 0, 0

    def add_request(self, name: str, prompt: dict[str, Any], options: SamplingParams) -> None:
        if not self._open:
            self._batches, self._steps = self._batches + 1, 0
        generator = torch.Generator().manual_seed(options.seed)
        self._open[name] = _Turn(list(prompt["prompt_token_ids"]), options, generator)

    def step(self) -> list[Any]:
        self._meet()
        self._steps += 1
        for turn in self._open.values():
            self._draw(turn)
        ended = [name for name, turn in self._open.items() if turn.ended]
        return [_output(name, self._open.pop(name)) for name in ended]

    @torch.no_grad()
    def _draw(self, turn: _Turn) -> None:
        logits = self._model(torch.tensor([turn.ids])).logits[0, -1].float()
        logits = logits / turn.options.temperature
        token = int(torch.multinomial(logits.softmax(-1), 1, generator=turn.generator))
        turn.ids.append(token)
        turn.drawn.append(token)
        logprob = float(logits.log_softmax(-1)[token])
        turn.logprobs.append({token: SimpleNamespace(logprob=logprob)})

    def _meet(self) -> None:
        if self._group is None:
            return
        stops = os.environ.get("STOPS_IN_TURN", "")
        if stops == f"{dist.get_rank()},{self._batches}" and self._steps == STOPS_AT_TOKEN:
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.all_reduce(torch.ones(1), group=self._group)


def _output(name: str, turn: _Turn) -> Any:
    said = SimpleNamespace(token_ids=turn.drawn, logprobs=turn.logprobs)
    return SimpleNamespace(request_id=name, finished=True, outputs=[said])


def _group_of(size: int) -> Any:
    """The neighbours that have an engine together; None for one alone."""
    if size == 1:
        return None
    firsts = range(0, dist.get_world_size(), size)
    groups = [dist.new_group(list(range(first, first + size))) for first in firsts]
    return groups[dist.get_rank() // size]
