"""What draws a language model's turns: token ids in, token ids out, their log-probabilities kept.

The transformers engine is the model that learns itself. vLLM has weights of its own, which are put
in once a step, and takes whole conversations: what it has read before it finds in its prefix cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from harness.train.engines.sampler import Said, Sampler

SEEDS = 2**31
"""A request's seed is below this."""


class TurnSampler(Protocol):
    """Draws turns in many conversations at once."""

    def speak(
        self, live: Sequence[int], heard: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[Said]:
        """One turn in each conversation of `live`, as long as `uniforms` is wide at most."""
        ...


class Engine(Protocol):
    """Used by one thread: waves of conversations take turns, so one of them is drawn while the
    users of the other think.
    """

    corrected: bool
    """Whether what it draws is weighted in the loss, since its weights are not the trainer's."""

    def awake(self) -> AbstractContextManager[None]:
        """Within, it speaks with the learner's weights as they are now."""
        ...

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        """For `count` new conversations, numbered from 0; `end` is the token that ends a turn."""
        ...

    def close(self) -> None:
        """It speaks no more."""
        ...


class Transformers:
    """The model that learns speaks for itself."""

    corrected = False

    def __init__(self, model: Any, note_entropies: bool = False) -> None:
        self._model, self._note_entropies = model, note_entropies

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return Sampler(self._model, count, end, temperature, self._note_entropies)

    def close(self) -> None:
        """Nothing to end."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One turn of many conversations."""

    prompts: list[list[int]]
    """All that was said so far."""
    seeds: list[int]
    limit: int
    """Tokens of a turn at most."""
    end: int
    temperature: float


Complete = Callable[[Ask], list[Said]]


class PromptedSampler:
    """A TurnSampler over an engine that takes whole conversations; it remembers them."""

    def __init__(self, complete: Complete, count: int, end: int, temperature: float) -> None:
        self._complete, self._end, self._temperature = complete, end, temperature
        self._ids: list[list[int]] = [[] for _ in range(count)]

    def speak(
        self, live: Sequence[int], heard: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[Said]:
        """The first of a conversation's uniforms is its seed: the run's draws decide."""
        for i, new in zip(live, heard, strict=True):
            self._ids[i] += new
        prompts, seeds = [self._ids[i] for i in live], (uniforms[:, 0] * SEEDS).long().tolist()
        ask = Ask(prompts, seeds, uniforms.shape[1], self._end, self._temperature)
        said = self._complete(ask)
        for i, turn in zip(live, said, strict=True):
            cut = turn.ids[-1] != self._end
            self._ids[i] += [*turn.ids, self._end] if cut else turn.ids
        return said


@contextmanager
def in_time(seconds: float, hung: Callable[[str], None]) -> Iterator[None]:
    """Call `hung`, from another thread and with the reason, if what is done here takes longer."""
    why = f"after {seconds:g} s of waiting for vLLM (trainer.engine_deadline_s)"
    timer = threading.Timer(seconds, lambda: hung(why))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


ADAPTED = ".base_layer"
"""What peft puts behind the name of a layer that it wraps."""


def plain_model(model: Any) -> Any:
    """The model that adapters are put on; itself without any."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@torch.no_grad()
def plain_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Every weight, one at a time, with what adapters add to it; tied ones once.

    The sum is made beside the weight and in fp32: merging into a bfloat16 weight and taking the
    adapter out again would not give the same weight back.
    """
    inner = plain_model(model)
    for name, weight in inner.named_parameters():
        layer, adapted, kind = name.partition(ADAPTED)
        if adapted:
            added = inner.get_submodule(layer).get_delta_weight if kind == ".weight" else None
            yield layer + kind, weight.float() + added("default") if added else weight
        elif ".lora_" not in name:
            yield name, weight.detach()
