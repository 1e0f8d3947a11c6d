"""A language model's own tokens under its current weights, without gradients.

In the micro-batches of the loss, and through the head in pieces as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from harness.train.engines.scoring import (
    chunks,
    entropies,
    head_logits,
    log_distribution,
    log_probabilities,
    own_states,
    padded,
)
from harness.train.objective.micro_batches import micro_batches


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


@torch.no_grad()
def states_before_replies(
    model: Any, ids: Sequence[Sequence[int]], turns: Sequence[Sequence[int]]
) -> list[Tensor]:
    """Hidden states at the last token before each reply, a (replies, hidden) tensor a conversation.

    `turns`: number of the reply that each token is of, from 1; 0 where it is not the policy's own.
    """
    firsts = [
        [turn > 0 and turn != before for before, turn in zip([0, *row], row, strict=False)]
        for row in turns
    ]
    return _by_row(model, ids, firsts, None)


def _by_row(
    model: Any,
    ids: Sequence[Sequence[int]],
    own: Sequence[Sequence[bool]],
    measure: Callable[[Tensor, Tensor], Tensor] | None,
) -> list[Tensor]:
    """`measure(logits, tokens)` of the tokens marked in each row, row by row.

    None for the hidden states that they are drawn from.
    """
    by_row: dict[int, Tensor] = {}
    for part in micro_batches(model, [len(row) for row in ids]):
        x = padded([ids[i] for i in part], fill=0).to(model.device)
        mask = padded([own[i] for i in part], fill=0).bool().to(model.device)
        values = own_states(model, x, mask)
        if measure is not None:
            states, tokens, head = values, x[:, 1:][mask[:, 1:]], model.get_output_embeddings()
            values = torch.cat(
                [measure(head_logits(head, states[at]), tokens[at]) for at in chunks(states, head)]
            )
        by_row.update(zip(part, torch.split(values, [sum(own[i]) for i in part]), strict=True))
    return [by_row[i] for i in range(len(ids))]
