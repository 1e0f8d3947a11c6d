"""What a language model thinks of tokens that were said: log-probabilities and entropies, fp32."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


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


def log_distribution(logits: Tensor, temperature: float) -> Tensor:
    """Log of softmax(logits / temperature), shifted by its maximum first; shape of `logits`."""
    scaled = logits if temperature == 1 else logits / temperature
    return torch.log_softmax(scaled, dim=-1)


def drawn(log_p: Tensor, tokens: Tensor) -> Tensor:
    """Log-probability of the tokens that were drawn, shape (tokens,)."""
    return log_p.gather(-1, tokens[:, None])[:, 0]


def log_probabilities(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Of the tokens drawn at `temperature`; shape (tokens,)."""
    return drawn(log_distribution(logits, temperature), tokens)


@torch.no_grad()
def entropies(log_p: Tensor) -> Tensor:
    """Shannon entropy in nats of each row of log-probabilities, shape (tokens,).

    log(sum exp z) - sum exp(z) z / sum exp z with z = log p. In exact arithmetic the sums are 1;
    in fp32 over a large vocabulary they are not quite, and near collapse that would be 1% of H.
    """
    weights = log_p.exp()
    total = weights.sum(dim=-1)
    return total.log() - (weights * log_p).sum(dim=-1) / total
