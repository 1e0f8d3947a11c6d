"""The maximum length of a run's conversations in tokens, and the memory of a batch of them.

During a rollout this is keys and values; during an update, logits and activations.
`objective/micro_batches.py` defines the size of activations and keeps them within a budget.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.train.engines.ragged_cache import GROWTH
from harness.train.engines.scoring import LOGITS_AT_ONCE, LOGITS_AT_ONCE_ON_A_CPU
from harness.train.memory.weight_memory import FULL_BYTES
from harness.train.metrics import held_out
from harness.train.objective import registry
from harness.train.objective.micro_batches import (
    ACTIVATIONS_AT_ONCE_ON_A_CPU,
    ROWS_AT_ONCE,
    activation_bytes,
    budget_of_a_gpu,
)

USER_TOKENS = 64
"""Typical number of tokens of a user's turn, including the template around it."""
NOTE_TOKENS = 2 * USER_TOKENS
"""Tokens of a critique besides the reply that it quotes, unless a served user's words are long."""
LOGIT_COPIES = 4
"""The logits, their distribution, its gradient, and the exponentials for the entropy."""


def most_tokens(config: RunConfig, turns: int, prompt_tokens: int = 0) -> int:
    """Return the maximum number of tokens of a conversation with `turns` replies."""
    return prompt_tokens + turns * (config.policy.max_turn_tokens + USER_TOKENS)


def told_tokens(config: RunConfig) -> int:
    """Return the maximum number of tokens of a critique in a prompt; 0 without critiques."""
    has_critique = registry.algorithm_of(config).refines_by() not in (None, "none")
    return config.policy.max_turn_tokens + NOTE_TOKENS if has_critique else 0


def most_turns(config: RunConfig) -> int:
    """Return the maximum number of replies in a run's conversations, including evaluations."""
    levels = held_out.levels_of(config)
    evaluated = [levels.every[n] for n in levels.met] if config.trainer.evaluated_every else []
    return max([config.most_replies, *(level.turn_cap for level in evaluated)])


def layer_bytes(config: RunConfig, shape: Any, tokens: int) -> float:
    """Return the bytes of one layer's activations for `tokens` tokens."""
    policy = config.policy
    per_token = activation_bytes(shape, policy.dtype, policy.lora_rank > 0, recomputes=False)
    return tokens * per_token / int(shape.num_hidden_layers)


def logit_bytes(vocabulary: int, tokens: int, device: str) -> int:
    """Return the bytes of logits at `tokens` positions, and of what is computed from them.

    At most as many positions count as `chunks` processes at once.
    """
    limit = LOGITS_AT_ONCE_ON_A_CPU if device == "cpu" else LOGITS_AT_ONCE
    return vocabulary * FULL_BYTES * LOGIT_COPIES * min(tokens, max(1, limit // vocabulary))


def micro_batch(
    config: RunConfig, shape: Any, longest: int, total_bytes: int, held_bytes: int, device: str
) -> tuple[int, float]:
    """Return the conversations of a micro-batch, and the bytes of their activations.

    All conversations have the maximum length, `longest` tokens. As many are processed at once as
    the config or the memory budget allows, but at least one.
    """
    policy, batch = config.policy, config.conversations_of_a_rank
    size = longest * activation_bytes(
        shape, policy.dtype, policy.lora_rank > 0, policy.gradient_checkpointing
    )
    limit = config.trainer.tokens_at_once
    if limit is not None:
        rows = max(1, min(batch, limit // longest))
    elif device == "cpu":
        rows = int(max(1, min(ROWS_AT_ONCE, batch, ACTIVATIONS_AT_ONCE_ON_A_CPU // size)))
    else:
        budget = budget_of_a_gpu(total_bytes, held_bytes) if total_bytes else ROWS_AT_ONCE * size
        rows = int(max(1, min(ROWS_AT_ONCE, batch, budget // size)))
    return rows, rows * size


def cache_bytes(config: RunConfig, shape: Any, prompt_tokens: int) -> int:
    """Return the bytes of keys and values of a batch of conversations of maximum length.

    They are the learner's, unless vLLM has them, and the start model's, if it scores replies. A
    slice of an evaluation is as large as a batch.
    """
    batch, turns = config.conversations_of_a_rank, most_turns(config)
    longest = most_tokens(config, turns, prompt_tokens)
    critique_tokens = told_tokens(config)
    tokens = batch * _cache_positions(longest)
    if critique_tokens:  # one per group, after the batch is freed
        tokens = max(
            tokens,
            batch // config.algorithm.group_size * _cache_positions(longest + critique_tokens),
        )
    learner = engine_choice.engine_of(config) == engine_choice.TRANSFORMERS
    readers = learner + registry.reads_start_model(config)
    width = 2 * int(shape.num_hidden_layers) * _key_value_width(shape)
    size: int = getattr(torch, config.policy.dtype).itemsize
    return readers * width * size * tokens


def _cache_positions(tokens: int) -> int:
    """Return the number of positions of a cache for `tokens` tokens."""
    return -(-tokens // GROWTH) * GROWTH


def _key_value_width(shape: Any) -> int:
    """Return the width of one layer's keys. Configs leave out values that follow from others."""
    heads = shape.num_attention_heads
    size = getattr(shape, "head_dim", None) or shape.hidden_size // heads
    return int(size * (getattr(shape, "num_key_value_heads", None) or heads))
