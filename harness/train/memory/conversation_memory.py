"""How long a run's conversations can become, in tokens, and what a batch of them takes of memory.

Keys and values while it is drawn, logits and activations while it is learnt from. How large
activations are says `objective/micro_batches.py`, which keeps them within a budget.
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
"""Typical length of a user's turn with the template around it."""
NOTE_TOKENS = 2 * USER_TOKENS
"""What a critique has beside the reply that it quotes, unless what a served user said is long."""
LOGIT_COPIES = 4
"""Logits, their distribution, its gradient and the exponentials of the entropy."""


def most_tokens(config: RunConfig, turns: int, prompt_tokens: int = 0) -> int:
    """Length of the longest conversation with so many replies."""
    return prompt_tokens + turns * (config.policy.max_turn_tokens + USER_TOKENS)


def told_tokens(config: RunConfig) -> int:
    """Most tokens of a critique, in the prompt of the reply that is drawn again; 0 without."""
    told = registry.algorithm_of(config).refines_by() not in (None, "none")
    return config.policy.max_turn_tokens + NOTE_TOKENS if told else 0


def most_turns(config: RunConfig) -> int:
    """Most replies in one of a run's conversations, those of its evaluations included."""
    levels = held_out.levels_of(config)
    met = [levels.every[n] for n in levels.met] if config.trainer.evaluated_every else []
    return max(level.turn_cap for level in [config.difficulty, *met])


def layer_bytes(config: RunConfig, shape: Any, tokens: int) -> float:
    """Activations of one layer, for so many tokens."""
    policy = config.policy
    every = activation_bytes(shape, policy.dtype, policy.lora_rank > 0, again=False)
    return tokens * every / int(shape.num_hidden_layers)


def logit_bytes(vocabulary: int, tokens: int, device: str) -> int:
    """What is made of the logits at `tokens` places, as many of them at once as `chunks` takes."""
    most = LOGITS_AT_ONCE_ON_A_CPU if device == "cpu" else LOGITS_AT_ONCE
    return vocabulary * FULL_BYTES * LOGIT_COPIES * min(tokens, max(1, most // vocabulary))


def micro_batch(
    config: RunConfig, shape: Any, longest: int, total_bytes: int, held_bytes: int, device: str
) -> tuple[int, float]:
    """Conversations of a micro-batch that are all as long as they can be, `longest` tokens, and
    bytes of their activations: as many as are at once, or as there is room for, but one.
    """
    policy, batch = config.policy, config.conversations_of_a_rank
    size = longest * activation_bytes(
        shape, policy.dtype, policy.lora_rank > 0, policy.gradient_checkpointing
    )
    most = config.trainer.tokens_at_once
    if most is not None:
        rows = max(1, min(batch, most // longest))
    elif device == "cpu":
        rows = int(max(1, min(ROWS_AT_ONCE, batch, ACTIVATIONS_AT_ONCE_ON_A_CPU // size)))
    else:
        room = budget_of_a_gpu(total_bytes, held_bytes) if total_bytes else ROWS_AT_ONCE * size
        rows = int(max(1, min(ROWS_AT_ONCE, batch, room // size)))
    return rows, rows * size


def cache_bytes(config: RunConfig, shape: Any, prompt_tokens: int) -> int:
    """Keys and values of a batch, or of an evaluation's slice, whose conversations are all as long
    as they can be: the learner's, unless vLLM has them, and the start model's, where it reads.
    """
    batch, turns = config.conversations_of_a_rank, most_turns(config)
    longest = most_tokens(config, turns, prompt_tokens)
    told = told_tokens(config)
    tokens = batch * _grown(longest)
    if told:  # one conversation a group, once the batch's are gone
        tokens = max(tokens, batch // config.algorithm.group_size * _grown(longest + told))
    learner = engine_choice.chosen(config) == engine_choice.TRANSFORMERS
    readers = learner + registry.reads_start_model(config)
    width = 2 * int(shape.num_hidden_layers) * _key_value_width(shape)
    size: int = getattr(torch, config.policy.dtype).itemsize
    return readers * width * size * tokens


def _grown(tokens: int) -> int:
    """Positions that the cache holds for so many."""
    return -(-tokens // GROWTH) * GROWTH


def _key_value_width(shape: Any) -> int:
    """Width of one layer's keys; configs leave out what follows from the rest."""
    heads = shape.num_attention_heads
    size = getattr(shape, "head_dim", None) or shape.hidden_size // heads
    return int(size * (getattr(shape, "num_key_value_heads", None) or heads))
