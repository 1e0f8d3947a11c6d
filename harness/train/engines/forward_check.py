"""A check of a model at load: tokens must be drawn and measured from its own distribution.

The harness uses only the hidden states and the head, with a cache shared by conversations of
different lengths. For a model that changes its logits afterwards, or has its own masking, the
logged H would be wrong.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy.chat import Chat
from harness.train.engines.sampler import CachedModel
from harness.utils.terminal import shorten_middle

EXCHANGES = (
    ("I failed my exam.", "I am sorry. That is hard. What happened?", "I had no time."),
    ("My dog died on Sunday, and nobody at home speaks of it.", "You miss him.", "Every day."),
)
"""Exchanges of different lengths: (user, policy, user)."""
IN_SHORTER = "lower difficulty.turn_cap or policy.max_turn_tokens"
ROPE_BY_LENGTH = ("dynamic", "longrope")
"""Types of rotary embeddings that depend on the length of the text."""
MOST_APART = {torch.float32: 1e-3, torch.bfloat16: 0.05}
"""Largest root mean squared difference between log-probabilities, relative to their standard
deviation. Rounding alone gives 1e-6 and .01; logits divided by 2 give .5."""


def check(policy: PolicyConfig, model: Any, chat: Chat, most_tokens: int) -> None:
    """Raise ConfigError for a model that would be sampled or measured incorrectly.

    `most_tokens`: length of the longest conversation.
    """
    _check_window(policy, model, most_tokens)
    _check_positions(policy, model, most_tokens)
    try:
        difference = _difference(model, chat)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        why = shorten_middle(" ".join(str(error).split()), 200)
        raise ConfigError(
            f"policy.model: {_name(policy)} must be a model whose key-value cache can be kept from "
            f"turn to turn (policy.attention={policy.attention}), got {type(error).__name__}: {why}"
        ) from error
    if not difference <= MOST_APART.get(model.dtype, MOST_APART[torch.bfloat16]):
        raise ConfigError(
            f"policy.model: {_name(policy)} must have logits that equal its head applied to its "
            f"hidden states (policy.attention={policy.attention}), but they differ by "
            f"{difference:.2g} of their spread, as with models that scale or cap them: H would be "
            "wrong"
        )


def _difference(model: Any, chat: Chat) -> float:
    """Return the relative difference between the model's own log-probabilities and those of a
    CachedModel, which reads piece by piece like a sampler; nan if a logit is nan.
    """
    pieces = [_pieces(chat, *exchange) for exchange in EXCHANGES]
    reader = CachedModel(model, len(pieces))
    logits: list[list[Tensor]] = [[] for _ in pieces]
    for turn in range(2):
        new_ids = [pair[turn] for pair in pieces]
        states = reader.read(new_ids)
        for row, ids in enumerate(new_ids):
            logits[row].append(reader.logits(states[row, : len(ids)]))
    differences, spreads = [], []
    for row, (opening, continuation) in enumerate(pieces):
        text = torch.tensor([[*opening, *continuation]], device=reader.device)
        with torch.no_grad():
            expected = torch.log_softmax(model(input_ids=text).logits[0].float(), dim=-1)
        cached = torch.log_softmax(torch.cat(logits[row]), dim=-1)
        differences.append((cached - expected).flatten())
        spreads.append((expected - expected.mean(dim=-1, keepdim=True)).flatten())
    rms = [float(torch.cat(parts).square().mean().sqrt()) for parts in (differences, spreads)]
    return rms[0] / max(rms[1], 1e-12)


def _pieces(chat: Chat, opening: str, reply: str, answer: str) -> tuple[list[int], list[int]]:
    return chat.opening(opening), [*chat.words(reply), chat.end, *chat.following(answer)]


def _check_window(policy: PolicyConfig, model: Any, most_tokens: int) -> None:
    """Raise ConfigError if a conversation can be longer than a sliding attention window."""
    shape = model.config
    window = getattr(shape, "sliding_window", None)
    kinds = getattr(shape, "layer_types", None) or ["sliding_attention"]
    if "local" in (getattr(shape, "attention_layers", None) or ()):  # GPT-Neo's attribute
        window, kinds = shape.window_size, ["sliding_attention"]
    if window and "sliding_attention" in kinds and window < most_tokens:
        raise ConfigError(
            f"policy.model: {_name(policy)} attends only to its last {window} tokens, and a "
            f"conversation must fit into them, got up to {most_tokens}: {IN_SHORTER}"
        )


def _check_positions(policy: PolicyConfig, model: Any, most_tokens: int) -> None:
    """Raise ConfigError if a conversation can have more tokens than the model has positions, or
    than its rotary embedding stays the same for: cached keys would belong to another length.
    """
    shape = model.config
    rope = getattr(shape, "rope_parameters", None) or {}
    limit, template = getattr(shape, "max_position_embeddings", None), "has {} positions"
    if rope.get("rope_type") in ROPE_BY_LENGTH:
        key = "original_max_position_embeddings"
        limit = rope.get(key) or getattr(shape, key, None) or limit
        template = "uses other positions for texts of more than {} tokens"
    if limit and limit < most_tokens:
        raise ConfigError(
            f"policy.model: {_name(policy)} {template.format(limit)}, and a conversation must fit "
            f"into them, got up to {most_tokens} tokens: {IN_SHORTER}"
        )


def _name(policy: PolicyConfig) -> str:
    return policy.model or f"a random {policy.architecture}"
