"""What a language model thinks of tokens that were said: log-probabilities and entropies, fp32."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROWS_AT_ONCE = 4096
"""Tokens whose distributions over the vocabulary are held at once outside the training graph."""


def own_logits(model: Any, ids: Tensor, own: Tensor) -> Tensor:
    """fp32 logits at which each own token was drawn, shape (own tokens, vocabulary).

    `ids`, `own`: shape (rows, longest), padded on the right; in a causal model what is to the
    right of a token does not reach it, so no attention mask is needed. The head is applied to
    the policy's own positions only, in the order of `own.nonzero()`.
    """
    hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
    before = own[:, 1:]
    logits: Tensor = model.get_output_embeddings()(hidden[:, :-1][before])
    return logits.float()


def log_probabilities(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Of the tokens drawn at `temperature`; shape (tokens,)."""
    scaled = logits if temperature == 1 else logits / temperature
    return -torch.nn.functional.cross_entropy(scaled, tokens, reduction="none")


@torch.no_grad()
def entropies(logits: Tensor, temperature: float) -> Tensor:
    """Shannon entropy in nats of softmax(logits / temperature), shape (tokens,).

    log(sum exp z) - sum p z with z shifted by its maximum, in rows: without the shift the two
    terms are large and near collapse their difference is lost to rounding.
    """
    parts = [_entropies(rows / temperature) for rows in torch.split(logits, ROWS_AT_ONCE)]
    return torch.cat(parts) if parts else logits.new_zeros(0)


def _entropies(z: Tensor) -> Tensor:
    z = z - z.amax(dim=-1, keepdim=True)
    weights = z.exp()
    total = weights.sum(dim=-1)
    return total.log() - (weights * z).sum(dim=-1) / total
