"""GRPO's clipped loss on a language model, and what its tokens were like before the update.

Only the policy's own positions go through the head, in small batches of conversations of like
length. The formula is that of harness.train.losses, where it is checked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from harness.train.scoring import (
    chunks,
    drawn,
    entropies,
    head_logits,
    log_distribution,
    log_probabilities,
    own_states,
)
from harness.train.token_rows import by_length, padded

ROWS_AT_ONCE = 8
"""Conversations of one forward and backward."""
MOST_IMPORTANCE = 3.0
"""No token of an engine weighs more, however much likelier the trainer finds it (TRL's default)."""


@dataclass(frozen=True, slots=True)
class LossBatch:
    """Conversations to learn from; lists run over conversations."""

    ids: list[list[int]]
    own: list[list[bool]]
    """True at the policy's own tokens."""
    advantage: list[list[float]]
    """Of each own token."""
    old_logp: list[Tensor] | None
    """Of the own tokens when they were said; None where the weights are still the same."""
    engine_logp: list[list[float]] | None = None
    """Of the own tokens by the engine that drew them; None where that was the model itself."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One conversation's own tokens under the weights before the update; shapes (own tokens,)."""

    logp: Tensor
    entropy_nats: Tensor
    """At the sampling temperature."""
    entropy_t1_nats: Tensor


@dataclass(frozen=True, slots=True)
class LossResult:
    """The loss of a batch; its gradient is in the parameters' `grad`."""

    value: float
    scored: list[Scored]
    low_share: float
    """Share of tokens with a negative advantage whose ratio fell below 1 - clip_low."""
    high_share: float


@dataclass(frozen=True, slots=True)
class Clip:
    """The clipped ratio's bounds, and the temperature at which the tokens were drawn."""

    low: float
    high: float
    temperature: float


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some own tokens of a batch, all of shape (tokens,)."""

    tokens: Tensor
    advantage: Tensor
    old: Tensor | None
    engine: Tensor | None


def accumulate_gradient(model: Any, batch: LossBatch, clip: Clip) -> LossResult:
    """Loss over all own tokens of the batch, every token weighing the same; adds its gradient.

    Backward runs part by part, so that no more than ROWS_AT_ONCE conversations are held at once,
    and through the head piece by piece, so that few logits are.
    """
    total = sum(sum(row) for row in batch.own)
    scored: list[Scored | None] = [None] * len(batch.ids)
    value, low, high = 0.0, 0, 0
    for part in by_length([len(row) for row in batch.ids], ROWS_AT_ONCE):
        ids = padded([batch.ids[i] for i in part], fill=0).to(model.device)
        own = padded([batch.own[i] for i in part], fill=0).bool().to(model.device)
        found, part_loss, clipped_low, clipped_high = _learn(
            model, own_states(model, ids, own), _piece(batch, part, ids, own), clip, total
        )
        value, low, high = value + part_loss, low + clipped_low, high + clipped_high
        sizes = [sum(batch.own[i]) for i in part]
        for i, *row in zip(part, *_by_size(found, sizes), strict=True):
            scored[i] = Scored(*row)
    rows = [row for row in scored if row is not None]
    return LossResult(value, rows, low / total, high / total)


def _piece(batch: LossBatch, part: Sequence[int], ids: Tensor, own: Tensor) -> _Piece:
    tokens = ids[:, 1:][own[:, 1:]]
    advantage = torch.tensor([a for i in part for a in batch.advantage[i]], device=ids.device)
    old = None if batch.old_logp is None else torch.cat([batch.old_logp[i] for i in part])
    drawn_by = batch.engine_logp
    engine = None if drawn_by is None else [logp for i in part for logp in drawn_by[i]]
    return _Piece(
        tokens,
        advantage,
        None if old is None else old.to(ids.device),
        None if engine is None else torch.tensor(engine, device=ids.device),
    )


def _learn(
    model: Any, states: Tensor, said: _Piece, clip: Clip, total: int
) -> tuple[tuple[Tensor, Tensor, Tensor], float, int, int]:
    """(logp, H, H at T = 1) of the tokens, their share of the loss, and how many were clipped."""
    head = model.get_output_embeddings()
    held = states.detach().requires_grad_()
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    value, low, high = 0.0, 0, 0
    for at in chunks(held, head):
        logits = head_logits(head, held[at])
        log_p = log_distribution(logits, clip.temperature)
        logp = drawn(log_p, said.tokens[at])
        old = logp.detach() if said.old is None else said.old[at]
        advantage = said.advantage[at]
        if said.engine is not None:
            advantage = advantage * importance(old, said.engine[at])
        loss, clipped_low, clipped_high = _clipped(logp, old, advantage, clip)
        torch.autograd.backward(loss / total)
        value += loss.item() / total
        low, high = low + clipped_low, high + clipped_high
        hot = entropies(log_p.detach())
        same = clip.temperature == 1
        cold = hot if same else entropies(log_distribution(logits.detach(), 1.0))
        found.append((logp.detach(), hot, cold))
    torch.autograd.backward(states, held.grad)
    logps, hots, colds = zip(*found, strict=True)
    return (torch.cat(logps), torch.cat(hots), torch.cat(colds)), value, low, high


def importance(trainer: Tensor, engine: Tensor) -> Tensor:
    """Truncated weights of tokens that another distribution drew, shape (tokens,).

    min(exp(trainer - engine), cap) of log-probabilities (Ionides, Truncated importance sampling,
    2008), token by token: over a whole conversation the product would drop the long ones.
    """
    return (trainer - engine).exp().clamp(max=MOST_IMPORTANCE)


@torch.no_grad()
def own_log_probabilities(
    model: Any, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]], temperature: float
) -> list[Tensor]:
    """Of each conversation's own tokens under the weights as they are."""
    return _by_row(model, ids, own, lambda z, tokens: log_probabilities(z, tokens, temperature))


@torch.no_grad()
def own_entropies(
    model: Any, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]], temperature: float
) -> list[Tensor]:
    """At each of a conversation's own tokens, in nats."""
    return _by_row(model, ids, own, lambda z, tokens: entropies(log_distribution(z, temperature)))


def _by_row(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    measure: Callable[[Tensor, Tensor], Tensor],
) -> list[Tensor]:
    """`measure(logits, tokens)` of each row's own tokens."""
    found: dict[int, Tensor] = {}
    for part in by_length([len(row) for row in ids], ROWS_AT_ONCE):
        x = padded([ids[i] for i in part], fill=0).to(model.device)
        mask = padded([own[i] for i in part], fill=0).bool().to(model.device)
        states, tokens = own_states(model, x, mask), x[:, 1:][mask[:, 1:]]
        head = model.get_output_embeddings()
        values = torch.cat(
            [measure(head_logits(head, states[at]), tokens[at]) for at in chunks(states, head)]
        )
        found.update(zip(part, torch.split(values, [sum(own[i]) for i in part]), strict=True))
    return [found[i] for i in range(len(ids))]


def _clipped(logp: Tensor, old: Tensor, advantage: Tensor, clip: Clip) -> tuple[Tensor, int, int]:
    """Summed loss, and how many tokens were clipped from below and from above."""
    ratio = (logp - old).exp()
    kept = ratio.clamp(1 - clip.low, 1 + clip.high)
    loss = -torch.minimum(ratio * advantage, kept * advantage).sum()
    low = ((advantage < 0) & (ratio < 1 - clip.low)).sum()
    high = ((advantage > 0) & (ratio > 1 + clip.high)).sum()
    return loss, int(low), int(high)


def _by_size(columns: Sequence[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Each column cut into the tokens of each conversation."""
    return [torch.split(column, sizes) for column in columns]
