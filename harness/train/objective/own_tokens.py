"""Values at a language model's own tokens under its current weights, without gradients.

Computed in the micro-batches of the loss; the head is applied in pieces as in the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from harness.train.engines.engine import start_weights
from harness.train.engines.scoring import (
    TokenRow,
    chunks,
    drawn_entries,
    entropies,
    expected_discriminants,
    head_logits,
    log_distribution,
    log_probabilities,
    own_states,
    pad_rows,
)
from harness.train.objective.loss_batch import TokenScores
from harness.train.objective.micro_batches import TokenLimit


class OwnTokenValues(Protocol):
    """Returns one tensor per conversation, with a value for each of its own tokens."""

    def __call__(
        self,
        model: Any,
        ids: Sequence[Sequence[int]],
        own: Sequence[Sequence[bool]],
        temperature: float,
        limit: TokenLimit | None = None,
    ) -> list[Tensor]:
        """`ids`: token ids per conversation; `own`: whether each is the policy's own token."""
        ...


def of_conversations(measure: Callable[[Tensor, Tensor, float], Tensor]) -> OwnTokenValues:
    """Turn a function of (logits, drawn tokens, temperature) into one of conversations."""

    @torch.no_grad()
    def values(
        model: Any,
        ids: Sequence[Sequence[int]],
        own: Sequence[Sequence[bool]],
        temperature: float,
        limit: TokenLimit | None = None,
    ) -> list[Tensor]:
        def at_temperature(logits: Tensor, tokens: Tensor) -> Tensor:
            return measure(logits, tokens, temperature)

        return _by_row(model, ids, own, at_temperature, limit)

    values.__name__, values.__doc__ = measure.__name__, measure.__doc__
    return values


@of_conversations
def own_log_probabilities(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Return log-probabilities of each conversation's own tokens under the current weights."""
    return log_probabilities(logits, tokens, temperature)


@of_conversations
def own_entropies(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Return the entropies at each conversation's own tokens, in nats."""
    return entropies(log_distribution(logits, temperature))


@of_conversations
def own_mean_discriminants(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Return the sum of p^2 (log p + H) over the vocabulary at each conversation's own tokens."""
    return expected_discriminants(log_distribution(logits, temperature))


@of_conversations
def _scores(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Return log-probability, entropy, and entropy at temperature 1, shape (tokens, 3)."""
    log_p = log_distribution(logits, temperature)
    entropy = entropies(log_p)
    entropy_t1 = entropy if temperature == 1 else entropies(log_distribution(logits, 1.0))
    return torch.stack((drawn_entries(log_p, tokens), entropy, entropy_t1), dim=1)


def own_scores(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    temperature: float,
    limit: TokenLimit | None = None,
) -> list[TokenScores]:
    """Return the loss's measures of each conversation's own tokens, under the current weights."""
    return [TokenScores(*row.T) for row in _scores(model, ids, own, temperature, limit)]


def mismatched_ratios(
    models: tuple[Any, Any],
    rows: Sequence[TokenRow],
    others: Sequence[int],
    temperature: float,
    limit: TokenLimit | None = None,
) -> list[float]:
    """Return `StepTokens.mismatched_ratio`.

    `models`: the learner and the start model, which may be the learner without its adapters;
    `others`: the number of the conversation whose replies replace those of each row.
    """
    mismatched = [
        _with_replies_of(rows[other], row) for row, other in zip(rows, others, strict=True)
    ]
    ids, own = [row.ids for row in mismatched], [row.own for row in mismatched]
    learner, start = models
    learner_logp = own_log_probabilities(learner, ids, own, temperature, limit)
    with start_weights(start):
        start_logp = own_log_probabilities(start, ids, own, temperature, limit)
    return [float((a - b).sum()) for a, b in zip(learner_logp, start_logp, strict=True)]


def _with_replies_of(other: TokenRow, row: TokenRow) -> TokenRow:
    """Return the row with the replies of `other`; it ends with the last reply that both have."""
    mismatched, previous = TokenRow(), 0
    for token, turn in zip(row.ids, row.turn, strict=True):
        if turn > max(other.turn):
            break
        if turn and turn != previous:
            pairs = zip(other.ids, other.turn, strict=True)
            mismatched.extend(
                [other_token for other_token, other_turn in pairs if other_turn == turn], turn
            )
        elif not turn:
            mismatched.extend([token])
        previous = turn
    return mismatched


@torch.no_grad()
def states_before(
    model: Any,
    ids: Sequence[Sequence[int]],
    marked: Sequence[Sequence[bool]],
    limit: TokenLimit | None = None,
) -> list[Tensor]:
    """Return the hidden states that marked tokens are drawn from, at the token before each.

    There is one tensor of shape (marked tokens, hidden) per conversation, on the CPU.
    """
    return _by_row(model, ids, marked, None, limit)


def _by_row(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    measure: Callable[[Tensor, Tensor], Tensor] | None,
    limit: TokenLimit | None,
) -> list[Tensor]:
    """Return `measure(logits, tokens)` of the marked tokens of each row.

    If `measure` is None, return the hidden states that the tokens are drawn from.
    """

    def work(parts: Sequence[list[int]]) -> list[Tensor]:
        by_row: dict[int, Tensor] = {}
        for part in parts:
            values = _measure_part(model, [ids[i] for i in part], [own[i] for i in part], measure)
            sizes = [sum(own[i]) for i in part]
            by_row.update(zip(part, torch.split(values, sizes), strict=True))
        return [by_row[i] for i in range(len(ids))]

    return (limit or TokenLimit()).within(model, [len(row) for row in ids], work)


def _measure_part(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    measure: Callable[[Tensor, Tensor], Tensor] | None,
) -> Tensor:
    """Return `measure` of the marked tokens of one micro-batch, or their hidden states.

    The states are moved to the CPU, since those of a batch may not fit besides weights and
    optimiser.
    """
    x = pad_rows(ids, fill=0).to(model.device)
    mask = pad_rows(own, fill=0).bool().to(model.device)
    states = own_states(model, x, mask)
    if measure is None:
        return states.cpu()
    tokens, head = x[:, 1:][mask[:, 1:]], model.get_output_embeddings()
    return torch.cat(
        [measure(head_logits(head, states[piece]), tokens[piece]) for piece in chunks(states, head)]
    )
