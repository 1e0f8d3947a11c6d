"""What a run asks of vLLM, done by transformers; nothing of harness is imported.

In a group, ranks meet before each token, as an engine in parts does. With STOPS_IN_TURN=RANK,N the
process of that rank stops in the middle of turn N.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
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


class LLM:
    def __init__(self, model: str, *, tensor_parallel_size: int = 1, **_options: Any) -> None:
        self._model: Any = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))
        self._model.eval().load_weights = self._load
        self._group = _group_of(tensor_parallel_size)
        self._turns = 0
        runner = SimpleNamespace(model=self._model)
        worker = SimpleNamespace(driver_worker=SimpleNamespace(model_runner=runner))
        core = SimpleNamespace(shutdown=lambda: None)
        self.llm_engine = SimpleNamespace(model_executor=worker, engine_core=core)

    def reset_prefix_cache(self) -> None: ...

    def generate(
        self, prompts: list[dict[str, Any]], options: list[SamplingParams], use_tqdm: bool
    ) -> list[Any]:
        self._turns += 1
        given = zip(prompts, options, strict=True)
        return [self._turn(prompt["prompt_token_ids"], option) for prompt, option in given]

    @torch.no_grad()
    def _turn(self, prompt: list[int], option: SamplingParams) -> Any:
        ids, logprobs = list(prompt), list[dict[int, Any]]()
        generator = torch.Generator().manual_seed(option.seed)
        while len(logprobs) < option.max_tokens:
            self._meet(len(logprobs))
            logits = self._model(torch.tensor([ids])).logits[0, -1].float() / option.temperature
            token = int(torch.multinomial(logits.softmax(-1), 1, generator=generator))
            ids.append(token)
            logprobs.append({token: SimpleNamespace(logprob=float(logits.log_softmax(-1)[token]))})
            if token in option.stop_token_ids:
                break
        return SimpleNamespace(
            outputs=[SimpleNamespace(token_ids=ids[len(prompt) :], logprobs=logprobs)]
        )

    def _meet(self, token: int) -> None:
        if self._group is None:
            return
        stops = os.environ.get("STOPS_IN_TURN", "")
        if stops == f"{dist.get_rank()},{self._turns}" and token == STOPS_AT_TOKEN:
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.all_reduce(torch.ones(1), group=self._group)

    def _load(self, weights: Any) -> set[str]:
        own, names = dict(self._model.named_parameters()), set()
        for name, weight in weights:
            own[name].data.copy_(weight)
            names.add(name)
        return names


def _group_of(size: int) -> Any:
    """The neighbours that have an engine together; None for one alone."""
    if size == 1:
        return None
    firsts = range(0, dist.get_world_size(), size)
    groups = [dist.new_group(list(range(first, first + size))) for first in firsts]
    return groups[dist.get_rank() // size]
