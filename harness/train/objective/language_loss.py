"""The loss of a batch on a language model, and the measures of its tokens before the update.

Only the policy's own positions go through the head, in small batches of conversations of similar
length. The formulas are numpy's, in remedy_stack.py; backward starts here from the slope that they
give each token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.train.algorithms.advantages import FloatArray, IntArray
from harness.train.algorithms.losses import MOST_IMPORTANCE
from harness.train.engines.scoring import (
    by_length,
    chunks,
    drawn,
    entropies,
    head_logits,
    log_distribution,
    log_probabilities,
    own_states,
    padded,
)
from harness.train.objective.remedy_stack import RemedyLoss, RemedyStack, TokenSelection

ROWS_AT_ONCE = 8
"""Conversations of one forward and backward."""


@dataclass(frozen=True, slots=True)
class LossBatch:
    """Conversations to learn from; lists run over conversations."""

    ids: list[list[int]]
    own: list[list[bool]]
    """True at the policy's own tokens."""
    advantage: list[list[float]]
    """One for each own token."""
    old_logp: list[Tensor] | None
    """Log-probabilities of the own tokens when they were drawn; None if the weights have not
    changed since."""
    engine_logp: list[list[float]] | None = None
    """The same by the engine that drew them; None if that was the model itself."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One conversation's own tokens under the weights before the update; shapes (own tokens,)."""

    logp: Tensor
    entropy_nats: Tensor
    """At the sampling temperature."""
    entropy_t1_nats: Tensor
    """At temperature 1."""


@dataclass(frozen=True, slots=True)
class LossResult:
    """The loss of a batch; its gradient is in the parameters' `grad`."""

    value: float
    scored: list[Scored]
    low_share: float
    """Share of tokens with a negative advantage whose ratio fell below 1 - clip_low."""
    high_share: float
    """Share of tokens with a positive advantage whose ratio rose above 1 + clip_high."""
    acted_share: float = 0.0
    """Share of tokens that a remedy acted on."""


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Everything beside the batch that determines its loss."""

    stack: RemedyStack
    selection: TokenSelection
    """Over the own tokens, conversation by conversation."""
    temperature: float
    """The sampling temperature."""
    denominator: float
    """Divisor of the summed loss."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The own tokens of some conversations, all of shape (tokens,)."""

    tokens: Tensor
    advantage: FloatArray
    selection: TokenSelection
    old_logp: Tensor | None
    engine_logp: Tensor | None


@dataclass(frozen=True, slots=True)
class _PartResult:
    """Measures of a part's tokens, shapes (tokens,), and sums over them."""

    columns: tuple[Tensor, Tensor, Tensor]
    """Log-probability, entropy, entropy at temperature 1."""
    value: float
    """The part's share of the loss."""
    low_high_acted: IntArray
    """Tokens clipped from below, from above, and acted on by a remedy."""


def accumulate_gradient(model: Any, batch: LossBatch, settings: LossSettings) -> LossResult:
    """Add the gradient of the loss over all own tokens of `batch` to the parameters' `grad`.

    Backward runs part by part, so that no more than ROWS_AT_ONCE conversations are in memory at
    once, and through the head in pieces, so that few logits are.
    """
    scored: list[Scored | None] = [None] * len(batch.ids)
    value, counts = 0.0, np.zeros(3, dtype=np.int64)
    count = len(settings.selection.weight)
    places = np.split(np.arange(count), np.cumsum([sum(row) for row in batch.own]))
    for members in by_length([len(row) for row in batch.ids], ROWS_AT_ONCE):
        ids = padded([batch.ids[i] for i in members], fill=0).to(model.device)
        own = padded([batch.own[i] for i in members], fill=0).bool().to(model.device)
        selection = settings.selection.at(np.concatenate([places[i] for i in members]))
        part = _part(batch, members, ids[:, 1:][own[:, 1:]], selection)
        result = _backward_part(model, own_states(model, ids, own), part, settings)
        value, counts = value + result.value, counts + result.low_high_acted
        sizes = [len(places[i]) for i in members]
        for i, *row in zip(members, *_by_size(result.columns, sizes), strict=True):
            scored[i] = Scored(*row)
    rows = [row for row in scored if row is not None]
    return LossResult(value, rows, *(counts / count).tolist())


def _part(
    batch: LossBatch, members: Sequence[int], tokens: Tensor, selection: TokenSelection
) -> _Part:
    """The own `tokens` of the conversations `members`, on the tokens' device."""
    advantage = np.array([a for i in members for a in batch.advantage[i]])
    old_logp = engine_logp = None
    if batch.old_logp is not None:
        old_logp = torch.cat([batch.old_logp[i] for i in members]).to(tokens.device)
    if batch.engine_logp is not None:
        flat = [logp for i in members for logp in batch.engine_logp[i]]
        engine_logp = torch.tensor(flat, device=tokens.device)
    return _Part(tokens, advantage, selection, old_logp, engine_logp)


def _backward_part(model: Any, states: Tensor, part: _Part, settings: LossSettings) -> _PartResult:
    """Backward from the loss of a part's tokens, drawn at `states`, to the parameters."""
    head = model.get_output_embeddings()
    leaf = states.detach().requires_grad_()
    columns: list[tuple[Tensor, Tensor, Tensor]] = []
    value, counts = 0.0, np.zeros(3, dtype=np.int64)
    for at in chunks(leaf, head):
        logits = head_logits(head, leaf[at])
        log_p = log_distribution(logits, settings.temperature)
        logp = drawn(log_p, part.tokens[at])
        entropy = entropies(log_p.detach())
        loss, weight = _loss(logp.detach(), part, at, settings)
        counted = part.selection.at(at).counted
        bonuses = counted * settings.selection.bonus
        counted = counted * weight
        slope = counted * loss.loss.slope / settings.denominator
        _backward_logits(log_p, logp, entropy, slope, bonuses / settings.denominator)
        losses = counted * loss.loss.value - bonuses * _to_numpy(entropy)
        value += float(losses.sum()) / settings.denominator
        counts += [mask.sum() for mask in (loss.loss.low, loss.loss.high, loss.acted)]
        entropy_t1 = entropy
        if settings.temperature != 1:
            entropy_t1 = entropies(log_distribution(logits.detach(), 1.0))
        columns.append((logp.detach(), entropy, entropy_t1))
    torch.autograd.backward(states, leaf.grad)
    logps, entropy_parts, entropy_t1_parts = zip(*columns, strict=True)
    joined = torch.cat(logps), torch.cat(entropy_parts), torch.cat(entropy_t1_parts)
    return _PartResult(joined, value, counts)


def _loss(
    logp: Tensor, part: _Part, at: slice, settings: LossSettings
) -> tuple[RemedyLoss, FloatArray]:
    """The loss of the tokens `at`, and the importance weight of each, 1 without an engine."""
    old_logp = logp if part.old_logp is None else part.old_logp[at]
    weight = np.ones(len(logp))
    if part.engine_logp is not None:
        weight = _to_numpy(importance(old_logp, part.engine_logp[at]))
    selection, advantage = part.selection.at(at), part.advantage[at]
    loss = settings.stack.loss(_to_numpy(logp), _to_numpy(old_logp), advantage, selection)
    return loss, weight


def _backward_logits(
    log_p: Tensor, logp: Tensor, entropy: Tensor, slope: FloatArray, bonuses: FloatArray
) -> None:
    """Backward from d loss / d logp of the drawn tokens, and from H where it has a bonus.

    Through a log-softmax, -p (log p + H) at log p is the gradient of H.
    """
    outputs, slopes = [logp], [torch.from_numpy(slope).to(logp)]
    if bonuses.any():
        fixed, per_token = log_p.detach(), torch.from_numpy(bonuses).to(logp)[:, None]
        outputs.append(log_p)
        slopes.append(fixed.exp() * (fixed + entropy[:, None]) * per_token)
    torch.autograd.backward(outputs, slopes)


def _to_numpy(values: Tensor) -> FloatArray:
    numbers: FloatArray = values.double().cpu().numpy()
    return numbers


def importance(trainer: Tensor, engine: Tensor) -> Tensor:
    """Truncated importance weights of tokens that another distribution drew, shape (tokens,).

    min(exp(trainer - engine), cap) of log-probabilities (Ionides, Truncated importance sampling,
    2008), token by token: over a whole conversation the product would drop the long ones.
    """
    return (trainer - engine).exp().clamp(max=MOST_IMPORTANCE)


@torch.no_grad()
def own_log_probabilities(
    model: Any, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]], temperature: float
) -> list[Tensor]:
    """Log-probabilities of each conversation's own tokens under the current weights."""
    return _by_row(model, ids, own, lambda z, tokens: log_probabilities(z, tokens, temperature))


@torch.no_grad()
def own_entropies(
    model: Any, ids: Sequence[Sequence[int]], own: Sequence[Sequence[bool]], temperature: float
) -> list[Tensor]:
    """Entropies at each conversation's own tokens, in nats."""
    return _by_row(model, ids, own, lambda z, tokens: entropies(log_distribution(z, temperature)))


def _by_row(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    measure: Callable[[Tensor, Tensor], Tensor],
) -> list[Tensor]:
    """`measure(logits, tokens)` of each row's own tokens, row by row."""
    by_row: dict[int, Tensor] = {}
    for part in by_length([len(row) for row in ids], ROWS_AT_ONCE):
        x = padded([ids[i] for i in part], fill=0).to(model.device)
        mask = padded([own[i] for i in part], fill=0).bool().to(model.device)
        states, tokens = own_states(model, x, mask), x[:, 1:][mask[:, 1:]]
        head = model.get_output_embeddings()
        values = torch.cat(
            [measure(head_logits(head, states[at]), tokens[at]) for at in chunks(states, head)]
        )
        by_row.update(zip(part, torch.split(values, [sum(own[i]) for i in part]), strict=True))
    return [by_row[i] for i in range(len(ids))]


def _by_size(columns: Sequence[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Each column, cut into the tokens of each conversation."""
    return [torch.split(column, sizes) for column in columns]
