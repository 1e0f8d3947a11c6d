"""Engines draw a language model's turns: token ids in, token ids and log-probabilities out.

The transformers engine is the learning model itself. vLLM has a copy of the weights, which is
updated once a step, and takes whole conversations; its prefix cache avoids reading them again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from harness.train.engines.sampler import SampledTurn, Sampler
from harness.utils.pending import Pending, ready, then

SEEDS = 2**31
"""Exclusive upper bound of a request's seed."""


class TurnSampler(Protocol):
    """Draws turns in many conversations at once."""

    def speak(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[SampledTurn]:
        """Draw one turn in each conversation of `live`, of at most `uniforms.shape[1]` tokens.

        `new_ids`: the new ids in each conversation; `uniforms`: shape (live, token limit).
        """
        ...

    def begin_turn(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> Pending[list[SampledTurn]]:
        """Begin to draw as `speak` does. The result is ready on return unless it is awaitable."""
        ...

    def rewind(self, lengths: Mapping[int, int]) -> None:
        """Truncate each conversation in `lengths` to that many of its first ids.

        At most the ids before the last turn can be kept. The next `speak` is given all that follow.
        """
        ...


class Engine(Protocol):
    """Draws turns for one thread, in waves of conversations: one wave is drawn while the users of
    another answer.
    """

    corrected: bool
    """Whether its tokens get importance weights in the loss, since its weights are a copy."""
    together: bool
    """Whether it draws for all waiting waves at once, rather than for one after the other."""

    def awake(self) -> AbstractContextManager[None]:
        """Return a context in which the engine draws with the learner's current weights."""
        ...

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        """Return a sampler for `count` new conversations, numbered from 0.

        `end`: id that ends a turn.
        """
        ...

    def speaking(self) -> AbstractContextManager[None]:
        """Return the context in which conversations are held.

        All ranks enter it together, even those without a conversation; see `turn_group`.
        """
        ...

    def close(self) -> None:
        """Free the engine's resources."""
        ...


class TransformersEngine:
    """The learning model as its own engine."""

    corrected = False
    together = False

    def __init__(
        self,
        model: Any,
        note_entropies: bool = False,
        before_token: Callable[[], None] = lambda: None,
    ) -> None:
        """`before_token`: called before each token of all live conversations; may raise to stop."""
        self._model, self._note_entropies = model, note_entropies
        self._before_token = before_token

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        note = self._note_entropies
        return Sampler(self._model, count, end, temperature, note, self._before_token)

    def speaking(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        """Do nothing, since the model belongs to the run."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A request for one turn in each of many conversations."""

    prompts: list[list[int]]
    """The ids of each conversation so far."""
    seeds: list[int]
    limit: int
    """Most tokens of a turn."""
    end: int
    temperature: float


Complete = Callable[[TurnRequest], list[SampledTurn]]
Begin = Callable[[TurnRequest], Pending[list[SampledTurn]]]


def at_once(complete: Complete) -> Begin:
    """Return a `Begin` that completes each request at once."""
    return lambda request: ready(complete(request))


class PromptedSampler:
    """A TurnSampler for an engine that takes whole conversations; it keeps their ids."""

    def __init__(self, begin: Begin, count: int, end: int, temperature: float) -> None:
        self._begin, self._end, self._temperature = begin, end, temperature
        self._ids: list[list[int]] = [[] for _ in range(count)]

    def speak(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[SampledTurn]:
        """Draw one turn in each conversation of `live`, seeded by the first of its uniforms."""
        return self.begin_turn(live, new_ids, uniforms)()

    def begin_turn(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> Pending[list[SampledTurn]]:
        for i, ids in zip(live, new_ids, strict=True):
            self._ids[i] += ids
        prompts, seeds = [self._ids[i] for i in live], (uniforms[:, 0] * SEEDS).long().tolist()
        request = TurnRequest(prompts, seeds, uniforms.shape[1], self._end, self._temperature)
        return then(self._begin(request), partial(self._keep, live))

    def _keep(self, live: Sequence[int], turns: list[SampledTurn]) -> list[SampledTurn]:
        """Append the turns to their conversations and return them."""
        for i, turn in zip(live, turns, strict=True):
            is_cut = turn.ids[-1] != self._end
            self._ids[i] += [*turn.ids, self._end] if is_cut else turn.ids
        return turns

    def rewind(self, lengths: Mapping[int, int]) -> None:
        for i, length in lengths.items():
            self._ids[i] = self._ids[i][:length]


class PollingEngine:
    """An engine that calls `before_turn` before each turn of all live conversations.

    `before_turn` may raise to stop.
    """

    def __init__(self, engine: Engine, before_turn: Callable[[], None]) -> None:
        self._engine, self._before_turn = engine, before_turn
        self.corrected, self.together = engine.corrected, engine.together

    def awake(self) -> AbstractContextManager[None]:
        return self._engine.awake()

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return _PolledSampler(self._engine.sampler(count, end, temperature), self._before_turn)

    def speaking(self) -> AbstractContextManager[None]:
        return self._engine.speaking()

    def close(self) -> None:
        self._engine.close()


@dataclass(frozen=True, slots=True)
class _PolledSampler:
    sampler: TurnSampler
    before_turn: Callable[[], None]

    def speak(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> list[SampledTurn]:
        return self.begin_turn(live, new_ids, uniforms)()

    def begin_turn(
        self, live: Sequence[int], new_ids: Sequence[Sequence[int]], uniforms: Tensor
    ) -> Pending[list[SampledTurn]]:
        self.before_turn()
        return self.sampler.begin_turn(live, new_ids, uniforms)

    def rewind(self, lengths: Mapping[int, int]) -> None:
        self.sampler.rewind(lengths)


@contextmanager
def in_time(
    seconds: float, on_hang: Callable[[str], None], waited_s: float = 0.0
) -> Iterator[None]:
    """Call `on_hang` with the reason if the block takes longer than `seconds`.

    It is called from another thread. `waited_s`: seconds waited before the block, which count too.
    """
    reason = f"after {seconds:g} s of waiting for vLLM (trainer.engine_deadline_s)"
    timer = threading.Timer(max(seconds - waited_s, 0.0), lambda: on_hang(reason))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


ADAPTED = ".base_layer"
"""Suffix that peft adds to the name of a layer that it wraps."""


def plain_model(model: Any) -> Any:
    """Return the model below the adapters; `model` itself if it has none."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def start_weights(model: Any) -> AbstractContextManager[Any]:
    """Return a context in which a model's adapters are switched off, so that it is the start model.

    A model without adapters stays as it is.
    """
    disabled: AbstractContextManager[Any] = (
        model.disable_adapter() if hasattr(model, "disable_adapter") else nullcontext()
    )
    return disabled


@torch.no_grad()
def plain_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield every weight with its name and the adapters' part added; tied weights once.

    The sum is a new tensor in fp32, since merging an adapter into a bfloat16 weight and removing it
    again would change the weight.
    """
    inner = plain_model(model)
    for name, weight in inner.named_parameters():
        layer, adapted, kind = name.partition(ADAPTED)
        if adapted:
            is_sum = kind == ".weight"
            total = _add_adapters(weight, inner.get_submodule(layer)) if is_sum else weight
            yield layer + kind, total
        elif ".lora_" not in name:
            yield name, weight.detach()


def _add_adapters(weight: Tensor, layer: Any) -> Tensor:
    """Return a weight plus its layer's adapters, without autocast, which would round the sum."""
    with torch.autocast(weight.device.type, enabled=False):
        added: Tensor = layer.get_delta_weight("default")
        return weight.float() + added
