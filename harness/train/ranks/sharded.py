"""Weights sharded over the ranks during updates (trainer.shard), from the view of rank 0.

TRL's optimiser steps rank 0's shards. Whenever it steps, saves or loads, the other ranks do the
same with their shards, so a checkpoint has the same files as that of a run of one rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.ranks.calls import Calls
from harness.train.ranks.links import Links
from harness.train.ranks.shards import Shards
from harness.train.ranks.work import RankWork

State = dict[str, Any]
"""An optimiser's `state_dict`."""


class ShardedWeights:
    """The shards of all ranks."""

    def __init__(self, own: RankWork, links: Links, calls: Calls) -> None:
        """Shard the learner's weights, which all ranks have."""
        self._calls = calls
        calls.ask_others("shard")
        with calls.watching():
            self._shards = Shards(own, links)
        calls.take()

    def sharded_optimiser(self, make_optimiser: Callable[[Any], Any]) -> Any:
        """Return the optimiser (AdamW) that `make_optimiser` makes for rank 0's shards, with hooks
        for the other ranks.
        """
        self._shards.optimiser = optimiser = make_optimiser(self._shards.model)
        optimiser.register_step_pre_hook(lambda *_: self._begin_step())
        optimiser.register_step_post_hook(lambda *_: self._end_step())
        optimiser.register_state_dict_post_hook(self._gather_state)
        optimiser.register_load_state_dict_pre_hook(self._scatter_state)
        return optimiser

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Return a context in which each rank's learner and judge have all weights, to be read."""
        if self._shards.is_whole:
            yield
            return
        self._call_all("gather")
        yield
        self._call_all("release")

    @contextmanager
    def exact(self) -> Iterator[None]:
        """Return a context in which rank 0's learner has all weights unrounded on the CPU, to save.

        It also works within `whole`, and while other ranks still draw.
        """
        arguments = [(rank == 0,) for rank in range(self._calls.size)]
        with self._calls.aside():
            weights = self._call_all("exact", arguments)[0]
        with self._shards.holding(weights):
            yield

    def learn(self, parts: Sequence[tuple[LossBatch, LossSettings]]) -> list[LossResult]:
        """Compute the gradient of the loss over all ranks' parts of a batch in the shards' `grad`.

        All ranks make equally many forward and backward passes, since each pass gathers weights
        from all ranks.
        """
        cuts = [self._shards.cut([len(row) for row in batch.ids]) for batch, _ in parts]
        tasks = zip(parts, as_many(cuts), strict=True)
        return self._call_all("learn", [(*part, cut) for part, cut in tasks])

    def clip(self, max_norm: float) -> float:
        """Clip the gradient to `max_norm` as torch.nn.utils.clip_grad_norm_ does, and return its
        norm before.
        """
        norm = math.sqrt(sum(self._call_all("square")))
        factor = max_norm / (norm + 1e-6) if math.isfinite(norm) else 1.0
        if factor < 1:
            self._call_all("scale", [(factor,)] * self._calls.size)
        return norm

    def _begin_step(self) -> None:
        """Let the other ranks step their shards, as the optimiser of rank 0 is about to do."""
        self._calls.ask_others("shards", "step", self._shards.rate)

    def _end_step(self) -> None:
        self._shards.forget()
        self._calls.take()

    def _gather_state(self, _optimiser: Any, state: State) -> State | None:
        """Return the state with whole moments on the CPU; None before the first step."""
        if not state["state"]:
            return None
        names = self._shards.names()
        arguments = [(names, rank == 0) for rank in range(self._calls.size)]
        with self._calls.aside():
            moments = self._call_all("moments", arguments)[0]
        return whole_state(state, moments)

    def _scatter_state(self, _optimiser: Any, state: State) -> State | None:
        """Return a saved state with rank 0's shards of the moments; other ranks load theirs."""
        saved_states = [state["state"][n] for n in sorted(state["state"])]
        if not saved_states:
            return None
        names, steps = self._shards.names(), [float(entry["step"]) for entry in saved_states]
        self._calls.ask_others("shards", "take_moments", names, steps)
        with self._calls.watching():
            parts = self._shards.parted(names, saved_states)
        self._calls.take()
        moments = {
            n: entry | part for n, (entry, part) in enumerate(zip(saved_states, parts, strict=True))
        }
        return state | {"state": moments}

    def _call_all(self, method: str, by_rank: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """Call a method of `Shards` on all ranks together and return the results by rank."""
        arguments: Sequence[tuple[Any, ...]] = by_rank or [()] * self._calls.size
        self._calls.ask("shards", [(method, *values) for values in arguments])
        with self._calls.watching():
            own = getattr(self._shards, method)(*arguments[0])
        return [own, *self._calls.take()]


def whole_state(state: State, moments: Sequence[Mapping[str, Tensor]]) -> State:
    """Return an optimiser's state with whole moments for each parameter.

    Step counts are copied, since the optimiser's next step would change them in place.
    """
    steps = [{"step": state["state"][n]["step"].clone()} for n in range(len(moments))]
    pairs = zip(steps, moments, strict=True)
    return state | {"state": {n: state["state"][n] | s | m for n, (s, m) in enumerate(pairs)}}


def as_many(cuts: Sequence[list[list[int]]]) -> list[list[list[int]]]:
    """Return each rank's micro-batches, padded with empty ones to the same number."""
    count = max(map(len, cuts))
    return [[*cut, *([[]] * (count - len(cut)))] for cut in cuts]
