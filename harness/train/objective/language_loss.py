"""The loss of a batch on a language model, and the log-probabilities and entropies of its tokens.

Only the policy's own positions go through the head, micro-batch by micro-batch. The algorithm and
the remedies give each token a slope, from which backward starts here, on the model's device. No
piece of logits is synchronised with the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.train.engines.scoring import (
    backward_of_nothing,
    chunks,
    drawn_entries,
    entropies,
    head_logits,
    log_distribution,
    log_probabilities,
    own_states,
    pad_rows,
)
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings, TokenScores
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.token_selection import RemedyLoss, TokenSelection
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.losses import MOST_IMPORTANCE, LossTokens


@dataclass(frozen=True, slots=True)
class _Part:
    """The own tokens of some conversations, all of shape (tokens,)."""

    tokens: Tensor
    advantage: Tensor
    conversation: Tensor
    """Number of each token's conversation within the part."""
    conversations: int
    selection: TokenSelection
    """The remedies' selection at these tokens, on the same device."""
    old_logp: Tensor | None
    engine_logp: Tensor | None
    value: ValueTerm | None


@dataclass(frozen=True, slots=True)
class _PartResult:
    """Per-token results of a part, shapes (tokens,), and sums over its tokens."""

    columns: tuple[Tensor, Tensor, Tensor]
    """Log-probability, entropy, entropy at temperature 1."""
    sums: Tensor
    """The part's share of the loss, and its numbers of tokens clipped below, clipped above, and
    acted on by a remedy; shape (4,)."""


def accumulate_gradient(
    model: Any, batch: LossBatch, settings: LossSettings, limit: TokenLimit | None = None
) -> LossResult:
    """Compute the loss over all own tokens of `batch`, with its gradient in the parameters' `grad`.

    Raises ValueError if a parameter already has a `grad`. Backward runs micro-batch by micro-batch
    within `limit`, and through the head in pieces, which limits the activations and logits in
    memory.
    """
    if any(p.grad is not None for p in model.parameters()):
        raise ValueError("every parameter's grad must be None before a batch, got a tensor")

    def forget() -> None:
        """Drop the partial gradient that an interrupted pass has left."""
        for parameter in model.parameters():
            parameter.grad = None

    limit, lengths = limit or TokenLimit(), [len(row) for row in batch.ids]
    poll = limit.before_part
    return limit.within(
        model, lengths, lambda parts: accumulate(model, batch, settings, parts, poll), forget
    )


def accumulate(
    model: Any,
    batch: LossBatch,
    settings: LossSettings,
    parts: Sequence[list[int]],
    before_part: Callable[[], None] = lambda: None,
) -> LossResult:
    """Make one pass over the batch, part by part; `parts` holds conversation numbers.

    An empty part makes a backward pass without a conversation, so that all ranks make equally many.
    """
    scored: list[TokenScores | None] = [None] * len(batch.ids)
    sums, count = _zeros(model), max(1, batch.tokens)  # a rank may have no conversation
    for members in parts:
        before_part()
        if not members:
            backward_of_nothing(model)
            continue
        ids = pad_rows([batch.ids[i] for i in members], fill=0).to(model.device)
        own = pad_rows([batch.own[i] for i in members], fill=0).bool().to(model.device)
        part_settings = settings.some(batch.places(members))
        part = _part(batch, members, ids[:, 1:][own[:, 1:]], part_settings)
        result = _backward_part(model, own_states(model, ids, own), part, settings)
        sums += result.sums
        sizes = [sum(batch.own[i]) for i in members]
        for i, *row in zip(members, *_by_size(result.columns, sizes), strict=True):
            scored[i] = TokenScores(*row)
    rows = [row for row in scored if row is not None]
    value, low, high, acted = sums.tolist()
    return LossResult(value, rows, low / count, high / count, acted / count)


def _part(
    batch: LossBatch, members: Sequence[int], tokens: Tensor, settings: LossSettings
) -> _Part:
    """Return the own `tokens` of the conversations `members`, on the tokens' device."""

    def to_device(values: Array) -> Tensor:
        """Convert floats to float32 and keep masks and integers."""
        tensor = torch.from_numpy(values)
        return (tensor.float() if tensor.is_floating_point() else tensor).to(tokens.device)

    owner = np.repeat(np.arange(len(members)), [sum(batch.own[i]) for i in members])
    old_logp = engine_logp = None
    if batch.old_logp is not None:
        old_logp = torch.cat([batch.old_logp[i] for i in members]).to(tokens.device)
    if batch.engine_logp is not None:
        engine_logp = to_device(np.concatenate([batch.engine_logp[i] for i in members]))
    return _Part(
        tokens,
        to_device(np.concatenate([batch.advantage[i] for i in members])),
        to_device(owner),
        len(members),
        settings.selection.map(to_device),
        old_logp,
        engine_logp,
        settings.value,
    )


def _backward_part(model: Any, states: Tensor, part: _Part, settings: LossSettings) -> _PartResult:
    """Backpropagate the loss of a part's tokens, drawn at `states`, to the parameters."""
    head = model.get_output_embeddings()
    leaf = states.detach().requires_grad_()
    columns: list[tuple[Tensor, Tensor, Tensor]] = []
    sums = _zeros(model)
    pieces, whole_loss = chunks(leaf, head), None
    if settings.stack.algorithm.by_conversation and len(pieces) > 1:
        whole_loss = _loss_of_whole_conversations(head, states.detach(), pieces, part, settings)
    for piece in pieces:
        logits = head_logits(head, leaf[piece])
        log_p = log_distribution(logits, settings.temperature)
        logp = drawn_entries(log_p, part.tokens[piece])
        entropy = entropies(log_p.detach())
        loss = (
            _loss(logp.detach(), part, piece, settings)
            if whole_loss is None
            else whole_loss.at(piece)
        )
        selection = part.selection.at(piece)
        counted = selection.counted
        weight = counted * _importance(logp.detach(), part, piece)
        slope = weight * loss.policy.slope / settings.denominator
        added = None
        losses = weight * loss.policy.value
        if loss.added is not None:  # remedies' terms are not importance-weighted
            added = counted * loss.added.slope / settings.denominator
            if selection.factor is None:
                slope, added = slope + added, None
            losses = losses + counted * loss.added.value
        by_entropy = None
        if selection.has_bonus:
            by_entropy = counted * (selection.bonus / settings.denominator)
            losses = losses - counted * selection.bonus * entropy
        sharper = logp
        if selection.factor is not None:
            sharper = drawn_entries(
                log_distribution(log_p * selection.factor[:, None], 1.0), part.tokens[piece]
            )
        _backward_logits(log_p, entropy, by_entropy, (sharper, slope), (logp, added))
        losses = losses.to(sums)
        marks = (mask.to(sums) for mask in (loss.policy.low, loss.policy.high, loss.acted))
        sums += torch.stack([losses / settings.denominator, *marks]).sum(dim=1)
        entropy_t1 = entropy
        if settings.temperature != 1:
            entropy_t1 = entropies(log_distribution(logits.detach(), 1.0))
        columns.append((logp.detach(), entropy, entropy_t1))
    if part.value is not None:
        sums[0] += part.value.backward(leaf).to(sums)
    torch.autograd.backward(states, leaf.grad)
    logps, entropy_parts, entropy_t1_parts = zip(*columns, strict=True)
    merged = torch.cat(logps), torch.cat(entropy_parts), torch.cat(entropy_t1_parts)
    return _PartResult(merged, sums)


def _zeros(model: Any) -> Tensor:
    """Return zeros to sum a batch's loss and counts in: on the model's device, or on the CPU for
    MPS, which has no float64.
    """
    device = "cpu" if model.device.type == "mps" else model.device
    return torch.zeros(4, dtype=torch.float64, device=device)


def _loss(logp: Tensor, part: _Part, piece: slice, settings: LossSettings) -> RemedyLoss:
    """Return the loss of the tokens `piece`."""
    tokens = LossTokens(
        logp,
        logp if part.old_logp is None else part.old_logp[piece],
        part.advantage[piece],
        part.conversation[piece],
        part.conversations,
    )
    return settings.stack.loss(tokens, part.selection.at(piece))


@torch.no_grad()
def _loss_of_whole_conversations(
    head: Any, states: Tensor, pieces: Sequence[slice], part: _Part, settings: LossSettings
) -> RemedyLoss:
    """Return the loss of a part whose conversations are cut by `pieces`, with another pass through
    the head.
    """
    logps = [
        log_probabilities(
            head_logits(head, states[piece]), part.tokens[piece], settings.temperature
        )
        for piece in pieces
    ]
    return _loss(torch.cat(logps), part, slice(None), settings)


def _importance(logp: Tensor, part: _Part, piece: slice) -> Tensor:
    """Return the importance weight of each token; 1 if the model itself drew the tokens."""
    if part.engine_logp is None:
        return torch.ones_like(logp)
    old_logp = logp if part.old_logp is None else part.old_logp[piece]
    return importance(old_logp, part.engine_logp[piece])


def _backward_logits(
    log_p: Tensor,
    entropy: Tensor,
    by_entropy: Tensor | None,
    *by_logp: tuple[Tensor, Tensor | None],
) -> None:
    """Backpropagate from the log-probabilities of the drawn tokens, and from H if it has a bonus.

    `by_logp`: pairs of log-probabilities and d loss / d logp; a pair with None is left out.
    Through a log-softmax, -p (log p + H) at log p is the gradient of H.
    """
    pairs = [(logp, slope) for logp, slope in by_logp if slope is not None]
    outputs, slopes = [logp for logp, _ in pairs], [slope for _, slope in pairs]
    if by_entropy is not None:
        fixed = log_p.detach()
        outputs.append(log_p)
        slopes.append(fixed.exp() * (fixed + entropy[:, None]) * by_entropy[:, None])
    torch.autograd.backward(outputs, slopes)


def importance(trainer: Tensor, engine: Tensor) -> Tensor:
    """Return truncated importance weights of tokens drawn by another distribution, shape (tokens,).

    The weight of a token is min(exp(trainer - engine), MOST_IMPORTANCE), from its log-probabilities
    (Ionides, Truncated importance sampling, 2008). A product over a whole conversation would
    practically drop long conversations.
    """
    return (trainer - engine).exp().clamp(max=MOST_IMPORTANCE)


def _by_size(columns: Sequence[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """Split each column by conversation; `sizes`: tokens of each."""
    return [torch.split(column, sizes) for column in columns]
