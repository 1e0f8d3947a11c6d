"""The loss of a batch on a language model, and what its tokens were like before the update.

Only the policy's own positions go through the head, in small batches of conversations of like
length. The formulas are numpy's, in remedy_stack.py: what goes backward here is the slope that
they give each token.
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
from harness.train.objective.remedy_stack import Marks, Treated, Treatment

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
    acted_share: float = 0.0
    """Share of tokens that a remedy acted upon."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How a batch is learned from."""

    treatment: Treatment
    marks: Marks
    """Of the own tokens, conversation by conversation."""
    temperature: float
    """At which they were drawn."""
    denominator: float
    """What the summed loss is divided by."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some own tokens of a batch, all of shape (tokens,)."""

    tokens: Tensor
    advantage: FloatArray
    marks: Marks
    old: Tensor | None
    engine: Tensor | None


@dataclass(frozen=True, slots=True)
class _Learned:
    """What came of some own tokens, shapes (tokens,), and sums over them."""

    columns: tuple[Tensor, Tensor, Tensor]
    """logp, H, H at T = 1."""
    value: float
    """Their share of the loss."""
    low_high_acted: IntArray
    """How many were clipped from below and above, and how many a remedy acted upon."""


def accumulate_gradient(model: Any, batch: LossBatch, how: Learning) -> LossResult:
    """Loss over all own tokens of the batch; adds its gradient.

    Backward runs part by part, so that no more than ROWS_AT_ONCE conversations are held at once,
    and through the head piece by piece, so that few logits are.
    """
    scored: list[Scored | None] = [None] * len(batch.ids)
    value, counts = 0.0, np.zeros(3, dtype=np.int64)
    places = np.split(np.arange(len(how.marks.weight)), np.cumsum([sum(row) for row in batch.own]))
    for part in by_length([len(row) for row in batch.ids], ROWS_AT_ONCE):
        ids = padded([batch.ids[i] for i in part], fill=0).to(model.device)
        own = padded([batch.own[i] for i in part], fill=0).bool().to(model.device)
        marks = how.marks.at(np.concatenate([places[i] for i in part]))
        learned = _learn(
            model, own_states(model, ids, own), _piece(batch, part, ids, own, marks), how
        )
        value, counts = value + learned.value, counts + learned.low_high_acted
        sizes = [len(places[i]) for i in part]
        for i, *row in zip(part, *_by_size(learned.columns, sizes), strict=True):
            scored[i] = Scored(*row)
    rows = [row for row in scored if row is not None]
    return LossResult(value, rows, *(counts / len(how.marks.weight)).tolist())


def _piece(batch: LossBatch, part: Sequence[int], ids: Tensor, own: Tensor, marks: Marks) -> _Piece:
    tokens = ids[:, 1:][own[:, 1:]]
    advantage = np.array([a for i in part for a in batch.advantage[i]])
    old = None if batch.old_logp is None else torch.cat([batch.old_logp[i] for i in part])
    drawn_by = batch.engine_logp
    engine = None if drawn_by is None else [logp for i in part for logp in drawn_by[i]]
    old = None if old is None else old.to(ids.device)
    noted = None if engine is None else torch.tensor(engine, device=ids.device)
    return _Piece(tokens, advantage, marks, old, noted)


def _learn(model: Any, states: Tensor, said: _Piece, how: Learning) -> _Learned:
    head = model.get_output_embeddings()
    held = states.detach().requires_grad_()
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    value, counts = 0.0, np.zeros(3, dtype=np.int64)
    for at in chunks(held, head):
        logits = head_logits(head, held[at])
        log_p = log_distribution(logits, how.temperature)
        logp = drawn(log_p, said.tokens[at])
        treated, weight = _treated(logp.detach(), said, at, how)
        hot = entropies(log_p.detach())
        counted, bonuses = (said.marks.at(at).counted * by for by in (weight, how.marks.bonus))
        slope = counted * treated.loss.slope / how.denominator
        _backward(log_p, logp, hot, slope, bonuses / how.denominator)
        losses = counted * treated.loss.value - bonuses * _numbers(hot)
        value += float(losses.sum()) / how.denominator
        counts += [m.sum() for m in (treated.loss.low, treated.loss.high, treated.acted)]
        warm = how.temperature != 1
        cold = entropies(log_distribution(logits.detach(), 1.0)) if warm else hot
        found.append((logp.detach(), hot, cold))
    torch.autograd.backward(states, held.grad)
    logps, hots, colds = zip(*found, strict=True)
    return _Learned((torch.cat(logps), torch.cat(hots), torch.cat(colds)), value, counts)


def _treated(logp: Tensor, said: _Piece, at: slice, how: Learning) -> tuple[Treated, FloatArray]:
    """The loss of the tokens `at`, and what each weighs for having been drawn by an engine."""
    old = logp if said.old is None else said.old[at]
    weight = np.ones(len(logp))
    if said.engine is not None:
        weight = _numbers(importance(old, said.engine[at]))
    marks, advantage = said.marks.at(at), said.advantage[at]
    return how.treatment.loss(_numbers(logp), _numbers(old), advantage, marks), weight


def _backward(
    log_p: Tensor, logp: Tensor, entropy: Tensor, slope: FloatArray, bonuses: FloatArray
) -> None:
    """d loss / d logp of the tokens drawn, and of H where there is a bonus for it, to the states.

    Through a log-softmax, -p (log p + H) at log p is the gradient of H.
    """
    ends, slopes = [logp], [torch.from_numpy(slope).to(logp)]
    if bonuses.any():
        sure, a_token = log_p.detach(), torch.from_numpy(bonuses).to(logp)[:, None]
        ends.append(log_p)
        slopes.append(sure.exp() * (sure + entropy[:, None]) * a_token)
    torch.autograd.backward(ends, slopes)


def _numbers(values: Tensor) -> FloatArray:
    numbers: FloatArray = values.double().cpu().numpy()
    return numbers


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


def _by_size(columns: Sequence[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Each column cut into the tokens of each conversation."""
    return [torch.split(column, sizes) for column in columns]
