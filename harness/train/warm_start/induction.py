"""Initial weights with hand-made induction heads, so that a new model can copy before training.

A head of the first layer attends to the previous token (others to the one before it, and so on)
and writes the code of that token beside the token's own. The heads of the last layer attend to
places whose previous token, by that code, equals the current token, and output the token at that
place (the induction heads of arXiv 2209.11895). Models learn this circuit late, and small models
hardly at all; with it a model only has to learn what to copy. The layers are the library's: only
their initial values are set, and all are trained.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

EMBEDDING = 0.1
"""Standard deviation of embeddings, which gives nearly orthogonal rows of length about 1."""
SHARED = 0.5
"""Length of the component that all embeddings share, which attention by position reads."""
WRITTEN = 0.2
"""Scale per dimension of the code that is written beside the token's own."""
BY_POSITION = (0.5, 0.3, 0.1, 0.1)
"""Weights of the fastest rotations in attention by position; their sum is 1."""
SLOW = 0.005
"""Upper limit, in radians per token, of the rotations that compare content over a distance."""
SHARP_POSITION, SHARP_CONTENT, SAID, LOUD = 1.7, 2.0, 2.0, 3.0
"""Scales of the query and key norms (by position, by content), the copied token, the last norm."""


def put_in(model: Any, seed: int) -> None:
    """Set the embeddings and the first and last attention of a Qwen3 model with induction heads.

    A model of one layer is left as it is, since no head could read what another wrote, as is one
    with heads of fewer than eight dimensions. There must be as many key and value heads as heads.
    """
    config = model.config
    if config.num_hidden_layers < 2 or config.head_dim < 2 * len(BY_POSITION):
        return
    generator = torch.Generator().manual_seed(seed)
    first, last = model.model.layers[0].self_attn, model.model.layers[-1].self_attn
    width, size, heads = config.hidden_size, config.head_dim, config.num_attention_heads
    code = min(size, width // 4)
    basis = torch.linalg.qr(torch.randn(width, width, generator=generator))[0]
    own, *previous = basis[: 4 * code].split(code)
    previous[2] = previous[2][: width - 1 - 3 * code]  # the last direction is the shared one
    rotations = _rotations(config)
    with torch.no_grad():
        _embed(model.get_input_embeddings().weight, basis[-1], generator)
        for head in range(min(heads, 3)):
            _attend(first, slice(head * size, (head + 1) * size), head + 1, basis[-1], rotations)
            _write(first, head * size, own, previous[head])
        first.q_norm.weight.fill_(SHARP_POSITION)
        first.k_norm.weight.fill_(SHARP_POSITION)
        for head in range(heads):
            rows = slice(head * size, (head + 1) * size)
            queries, keys = _match_previous(head, size, rotations, own, previous[: min(heads, 3)])
            last.q_proj.weight[rows], last.k_proj.weight[rows] = queries, keys
        last.q_norm.weight.fill_(SHARP_CONTENT)
        last.k_norm.weight.fill_(SHARP_CONTENT)
        copied = torch.linalg.qr(torch.randn(width, width, generator=generator))[0][: heads * size]
        last.v_proj.weight.copy_(copied)
        last.o_proj.weight.copy_(SAID * copied.T)
        model.model.norm.weight.fill_(LOUD)


def _rotations(config: Any) -> Tensor:
    """Return the rotations of a head's pairs of dimensions in radians per token, fastest first."""
    half = config.head_dim // 2
    theta: float = config.rope_parameters["rope_theta"]
    return torch.pow(theta, -torch.arange(half) / half)


def _embed(weight: Tensor, shared: Tensor, generator: torch.Generator) -> None:
    """Set random rows that share one component."""
    weight.copy_(torch.randn(weight.shape, generator=generator) * EMBEDDING)
    weight -= (weight @ shared)[:, None] * shared - SHARED * shared


def _attend(attention: Any, rows: slice, tokens: int, shared: Tensor, rotations: Tensor) -> None:
    """Make a head attend to the token `tokens` places before, whatever it is."""
    half = len(rotations)
    query, key = torch.zeros(2 * half), torch.zeros(2 * half)
    for pair, weight in enumerate(BY_POSITION):
        turn = tokens * rotations[pair]
        query[pair] = weight**0.5
        key[pair], key[pair + half] = weight**0.5 * turn.cos(), weight**0.5 * turn.sin()
    attention.q_proj.weight[rows] = query[:, None] * shared
    attention.k_proj.weight[rows] = key[:, None] * shared


def _write(attention: Any, begin: int, own: Tensor, target: Tensor) -> None:
    """Make the head whose rows start at `begin` write the attended token's code into `target`."""
    count = len(target)
    attention.v_proj.weight[begin : begin + count] = own[:count]
    attention.o_proj.weight[:, begin : begin + count] = WRITTEN * target.T


def _match_previous(
    head: int, size: int, rotations: Tensor, own: Tensor, previous: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return queries and keys that match the tokens before a place with the current tokens.

    The first head compares one token; the others compare two or three, to distinguish the places
    after a common word. Only slowly rotating dimensions can compare content over a distance.
    """
    slow = [pair for pair, speed in enumerate(rotations.tolist()) if speed < SLOW]
    slow += [pair + size // 2 for pair in slow]
    queries, keys = torch.zeros(size, own.shape[1]), torch.zeros(size, own.shape[1])
    newest = len(slow) if head == 0 or len(previous) < 2 else 3 * len(slow) // 5
    for n, row in enumerate(slow):
        k = (n + 7 * head) % min(map(len, previous))
        if n < newest:
            queries[row], keys[row] = 2 * own[k], previous[0][k]
        else:
            older = len(previous) > 2 and n % 2 == 0 and head != 1
            queries[row], keys[row] = previous[older][k], previous[older + 1][k]
    return queries, keys
