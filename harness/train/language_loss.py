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
    drawn,
    entropies,
    log_distribution,
    log_probabilities,
    own_logits,
)
from harness.train.token_rows import by_length, padded

ROWS_AT_ONCE = 8
"""Conversations of one forward and backward."""


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


def accumulate_gradient(
    model: Any, batch: LossBatch, clip_low: float, clip_high: float, temperature: float
) -> LossResult:
    """Loss over all own tokens of the batch, every token weighing the same; adds its gradient.

    Backward runs part by part, so that no more than ROWS_AT_ONCE conversations are held at once.
    """
    total = sum(sum(row) for row in batch.own)
    scored: list[Scored | None] = [None] * len(batch.ids)
    value, low, high = 0.0, 0, 0
    for part in by_length([len(row) for row in batch.ids], ROWS_AT_ONCE):
        ids = padded([batch.ids[i] for i in part], fill=0).to(model.device)
        own = padded([batch.own[i] for i in part], fill=0).bool().to(model.device)
        logits = own_logits(model, ids, own)
        log_p = log_distribution(logits, temperature)
        logp = drawn(log_p, ids[:, 1:][own[:, 1:]])
        sizes = [sum(batch.own[i]) for i in part]
        advantage = logp.new_tensor([a for i in part for a in batch.advantage[i]])
        old = logp.detach() if batch.old_logp is None else _join(batch.old_logp, part, logp)
        loss, clipped_low, clipped_high = _clipped(logp, old, advantage, clip_low, clip_high)
        torch.autograd.backward(loss / total)
        value += loss.item() / total
        low, high = low + clipped_low, high + clipped_high
        hot = entropies(log_p.detach())
        cold = hot if temperature == 1 else entropies(log_distribution(logits.detach(), 1.0))
        for i, *row in zip(part, *_by_size((logp.detach(), hot, cold), sizes), strict=True):
            scored[i] = Scored(*row)
    found = [row for row in scored if row is not None]
    return LossResult(value, found, low / total, high / total)


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
        values = measure(own_logits(model, x, mask), x[:, 1:][mask[:, 1:]])
        found.update(zip(part, torch.split(values, [sum(own[i]) for i in part]), strict=True))
    return [found[i] for i in range(len(ids))]


def _clipped(
    logp: Tensor, old: Tensor, advantage: Tensor, clip_low: float, clip_high: float
) -> tuple[Tensor, int, int]:
    """Summed loss, and how many tokens were clipped from below and from above."""
    ratio = (logp - old).exp()
    kept = ratio.clamp(1 - clip_low, 1 + clip_high)
    loss = -torch.minimum(ratio * advantage, kept * advantage).sum()
    low = ((advantage < 0) & (ratio < 1 - clip_low)).sum()
    high = ((advantage > 0) & (ratio > 1 + clip_high)).sum()
    return loss, int(low), int(high)


def _by_size(columns: Sequence[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Each column cut into the tokens of each conversation."""
    return [torch.split(column, sizes) for column in columns]


def _join(rows: Sequence[Tensor], part: Sequence[int], like: Tensor) -> Tensor:
    return torch.cat([rows[i] for i in part]).to(like)
