"""Conversations as rows of tokens, and their log-probabilities and entropies in fp32."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

LOGITS_AT_ONCE = 2**26
"""256 MB in fp32, so that memory does not grow with the vocabulary."""
LOGITS_AT_ONCE_ON_A_CPU = 2**24
"""64 MB in fp32, of which backward holds several copies; a CPU is no faster with more."""


def own_states(model: Any, ids: Tensor, own: Tensor) -> Tensor:
    """Return the hidden states from which each own token was drawn, shape (own tokens, hidden).

    `ids`, `own`: shape (rows, longest), padded on the right. In a causal model tokens do not depend
    on those to their right, so no attention mask is needed. Only the policy's own positions are
    kept, in the order of `own.nonzero()`.
    """
    hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
    states: Tensor = hidden[:, :-1][own[:, 1:]]
    return states


def own_logits(model: Any, ids: Tensor, own: Tensor) -> Tensor:
    """Return the fp32 logits at which each own token was drawn, shape (own tokens, vocabulary)."""
    return head_logits(model.get_output_embeddings(), own_states(model, ids, own))


def backward_of_nothing(model: Any) -> None:
    """Run a forward and backward that adds 0 to every gradient.

    A rank with fewer micro-batches than others needs it with sharded weights, since all ranks must
    gather weights and reduce gradients equally often.
    """
    nothing = torch.zeros((1, 2), dtype=torch.int64, device=model.device)
    torch.autograd.backward(own_logits(model, nothing, nothing.bool()).sum())


def chunks(states: Tensor, head: Any) -> Sequence[slice]:
    """Return slices of `states` with at most LOGITS_AT_ONCE logits each, fewer on a CPU."""
    is_cpu = states.device.type == "cpu"
    limit = min(LOGITS_AT_ONCE, LOGITS_AT_ONCE_ON_A_CPU) if is_cpu else LOGITS_AT_ONCE
    size = max(1, limit // head.weight.shape[0])
    return [slice(n, n + size) for n in range(0, len(states), size)]


def head_logits(head: Any, hidden: Tensor) -> Tensor:
    """Return the fp32 logits of hidden states, shape (..., vocabulary), even under autocast.

    In bfloat16, logits have 8 significant bits, which biases entropies and log-ratios over a large
    vocabulary.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        bias = None if head.bias is None else head.bias.float()
        return linear(hidden.float(), head.weight.float(), bias)


def log_distribution(logits: Tensor, temperature: float) -> Tensor:
    """Return log softmax(logits / temperature), in the shape of `logits`."""
    scaled = logits if temperature == 1 else logits / temperature
    return torch.log_softmax(scaled, dim=-1)


def drawn_entries(log_p: Tensor, tokens: Tensor) -> Tensor:
    """Return the entries of the drawn tokens in `log_p`, shape (tokens,)."""
    return log_p.gather(-1, tokens[:, None])[:, 0]


def log_probabilities(logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Return the log-probabilities of tokens at `temperature`, shape (tokens,)."""
    return drawn_entries(log_distribution(logits, temperature), tokens)


@torch.no_grad()
def entropies(log_p: Tensor) -> Tensor:
    """Return the Shannon entropy of each row of log-probabilities in nats, shape (tokens,).

    It is log(sum exp z) - sum exp(z) z / sum exp z with z = log p. In exact arithmetic the sums of
    exp z are 1. In fp32 over a large vocabulary they are not quite, which near collapse would be an
    error of 1% of H.
    """
    weights = log_p.exp()
    total = weights.sum(dim=-1)
    return total.log() - (weights * log_p).sum(dim=-1) / total


@torch.no_grad()
def expected_discriminants(log_p: Tensor) -> Tensor:
    """Return sum p^2 (log p + H) of each row of log-probabilities, shape (tokens,).

    This is the mean, under the row's own distribution, of p (log p + H), by which H falls to first
    order when a logit is raised (arXiv 2602.03392).
    """
    return ((2 * log_p).exp() * (log_p + entropies(log_p)[:, None])).sum(dim=-1)


@torch.no_grad()
def surprise_moments(log_p: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance of -log p under each row's own distribution, shapes (tokens,).

    The mean is the entropy.
    """
    entropy = entropies(log_p)
    weights = log_p.exp()
    squares = (weights * (log_p + entropy[:, None]).square()).sum(dim=-1)
    return entropy, squares / weights.sum(dim=-1)


@dataclass(slots=True)
class TokenRow:
    """A conversation as the tokens that a model reads."""

    ids: list[int] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    """Number, from 1, of the policy's reply that each token belongs to; 0 for other tokens."""

    @property
    def own(self) -> list[bool]:
        """Whether each token is the policy's own."""
        return [turn > 0 for turn in self.turn]

    @property
    def prompt_length(self) -> int:
        """Number of tokens before the policy's first own token, which must exist."""
        return next(n for n, turn in enumerate(self.turn) if turn)

    def extend(self, ids: Sequence[int], turn: int = 0) -> None:
        """Append tokens of the policy's reply `turn`, from 1; 0 for tokens of others."""
        self.ids.extend(ids)
        self.turn.extend([turn] * len(ids))


def pad_rows(rows: Sequence[Sequence[float]], fill: int) -> Tensor:
    """Return rows of different lengths as a tensor (rows, longest), padded on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def by_length(lengths: Sequence[int], size: int, tokens: float = math.inf) -> list[list[int]]:
    """Return indices in groups of similar length, so that there is little padding.

    A group has at most `size` members and, unless it has a single one, at most `tokens` tokens
    including padding.
    """
    groups: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if not groups or len(groups[-1]) == size or (len(groups[-1]) + 1) * lengths[i] > tokens:
            groups.append([])
        groups[-1].append(i)
    return groups
