"""The mean policy entropy at some tokens as a function of the weights: values and gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from harness.train.engines.scoring import (
    chunks,
    entropies,
    head_logits,
    log_distribution,
    own_states,
    pad_rows,
)
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import own_entropies
from harness.train.policy_gradient.advantages import FloatArray


class EntropyOfTokens:
    """The policy entropy at the own tokens of fixed conversations, for changing weights."""

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        own: Sequence[Sequence[bool]],
        temperature: float,
        limit: TokenLimit | None = None,
    ) -> None:
        self._ids, self._own, self._temperature = ids, own, temperature
        self._limit = limit or TokenLimit()

    def values(self, model: Any) -> FloatArray:
        """Return the entropy at each token in nats, in the order of the rows, shape (tokens,)."""
        values = own_entropies(model, self._ids, self._own, self._temperature, self._limit)
        flat: FloatArray = torch.cat(values).double().cpu().numpy()
        return flat

    def gradient(self, model: Any) -> list[Tensor]:
        """Return the gradient of the mean by each trainable weight.

        The weights' `grad` must be None before, and is None afterwards.
        """

        def forget() -> None:
            for weight in learning(model):
                weight.grad = None

        def work(parts: Sequence[list[int]]) -> list[Tensor]:
            for part in parts:
                self._backward(model, part)
            return [torch.zeros_like(w) if w.grad is None else w.grad for w in learning(model)]

        try:
            return self._limit.within(model, [len(row) for row in self._ids], work, forget)
        finally:
            forget()

    def _backward(self, model: Any, part: Sequence[int]) -> None:
        """Backpropagate the part's share of the mean, in pieces like the loss's entropy bonus."""
        ids = pad_rows([self._ids[i] for i in part], fill=0).to(model.device)
        own = pad_rows([self._own[i] for i in part], fill=0).bool().to(model.device)
        states, head = own_states(model, ids, own), model.get_output_embeddings()
        count, leaf = sum(map(sum, self._own)), states.detach().requires_grad_()
        for piece in chunks(leaf, head):
            log_p = log_distribution(head_logits(head, leaf[piece]), self._temperature)
            fixed = log_p.detach()
            slope = -fixed.exp() * (fixed + entropies(fixed)[:, None]) / count
            torch.autograd.backward(log_p, slope)
        torch.autograd.backward(states, leaf.grad)


def learning(model: Any) -> list[Tensor]:
    """Return the trainable weights, in the model's order."""
    return [weight for weight in model.parameters() if weight.requires_grad]


@contextmanager
def moved(model: Any) -> Iterator[Callable[[Tensor], None]]:
    """Yield a function that sets the trainable weights to their initial values plus a flat vector.

    Each call starts from the initial values. Leaving the context restores them bit by bit.
    """
    weights = learning(model)
    initial = [weight.detach().clone() for weight in weights]

    @torch.no_grad()
    def move(offset: Tensor) -> None:
        parts = torch.split(offset, [weight.numel() for weight in weights])
        for weight, start, part in zip(weights, initial, parts, strict=True):
            weight.copy_(start + part.view_as(start))

    try:
        yield move
    finally:
        with torch.no_grad():
            for weight, start in zip(weights, initial, strict=True):
                weight.copy_(start)
