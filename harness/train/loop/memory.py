"""Estimate of a Hugging Face policy's GPU memory, by phase and part, before anything is loaded.

How large activations are says `objective/micro_batches.py`, which keeps them within a budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import DeviceError
from harness.policy import huggingface
from harness.train.engines.ragged_cache import GROWTH
from harness.train.engines.scoring import LOGITS_AT_ONCE, LOGITS_AT_ONCE_ON_A_CPU
from harness.train.ledger import moves
from harness.train.loop import conversation_length, language_ledger, weight_memory
from harness.train.loop.weight_memory import FULL_BYTES
from harness.train.objective import registry
from harness.train.objective.micro_batches import (
    ACTIVATIONS_AT_ONCE_ON_A_CPU,
    LEARNING_BYTES,
    ROWS_AT_ONCE,
    activation_bytes,
    budget_of_a_gpu,
)

LOGIT_COPIES = 4
"""Logits, their distribution, its gradient and the exponentials of the entropy."""
LEDGER_VECTORS = 9
"""Of all weights that learn, which the ledger has beside its draws: Adam's two moments, slope,
weights to put back, offset, a move, the whole gradient, a unit's, and one in between."""
MOST_OVER = 1.3
"""Times the free memory up to which an estimate is only warned of: it is of conversations that are
all as long as they can be."""
TALK_IN_LESS = "fewer trainer.conversations or policy.max_turn_tokens need less"
LEARN_IN_LESS = (
    "policy.lora_rank=32, policy.gradient_checkpointing=true or a smaller trainer.tokens_at_once "
    "need less"
)
READ_IN_LESS = "on a CPU, with CUDA_VISIBLE_DEVICES=, it needs none"
SHARD = "trainer.shard=full, "


@dataclass(frozen=True)
class Phase:
    """What is in memory at the same time."""

    name: str
    parts: Mapping[str, int]
    """Bytes by part."""
    advice: str
    """Keys that make it smaller."""

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {_gb(size)}" for name, size in self.parts.items() if size)
        return f"{_gb(self.total)} in the {self.name} ({listed})"


def phases(
    config: RunConfig,
    folder: Path | None,
    total_bytes: int = 0,
    prompt_tokens: int = 0,
    device: str = "cuda",
) -> tuple[Phase, Phase]:
    """A step's phases, in which most memory is in use: rollout and update.

    They follow each other: keys and values are gone before there are gradients and activations.
    An evaluation is held in slices as large as a batch. `folder`: the model's files, None for
    random weights of the policy's shape; `total_bytes`: the run's of the GPU, 0 where not known;
    `prompt_tokens`: of the system prompt and the template around the first words. Of several ranks
    this is one's memory: of sharded weights it holds a part, beside what it gathers. What a critic
    reads before an update is of a micro-batch at a time, without gradients, and needs less than it.
    """
    policy = config.policy
    model = huggingface.without_weights(policy, folder)
    learning = weight_memory.learning(model, policy)
    head = model.get_output_embeddings().weight
    is_sharded, parts = config.trainer.shard != "none", weight_memory.parts_of(config)
    kept, read = weight_memory.kept(config, model), weight_memory.gathered_to_read(model, policy)
    updated = weight_memory.gathered_to_update(model)
    held = kept["weights"] + learning * LEARNING_BYTES // parts
    engine = engine_choice.chosen(config)
    share = config.trainer.gpu_memory_share if engine == engine_choice.COLOCATED else 0
    vllm = {"vLLM": int(share * total_bytes)}
    longest = conversation_length.most_tokens(config, config.difficulty.turn_cap, prompt_tokens)
    rows, at_once = _at_once(config, model.config, longest, total_bytes, held, device)
    spoken = policy.max_turn_tokens * config.conversations_of_a_rank
    own = policy.max_turn_tokens * config.difficulty.turn_cap * rows
    width = head.shape[0] * FULL_BYTES
    rollout = {
        "keys and values": _cache_bytes(config, model.config, prompt_tokens),
        "logits": width * LOGIT_COPIES * min(spoken, _piece(head.shape[0], device)),
        **vllm,
        "gathered weights": read if is_sharded else 0,
        "gathered start model": read if is_sharded and weight_memory.has_a_copy(config) else 0,
    }
    behind = {
        "logits": width * LOGIT_COPIES * min(own, _piece(head.shape[0], device)),
        "gradient of the head": 0 if policy.lora_rank or is_sharded else head.numel() * FULL_BYTES,
    }
    if policy.gradient_checkpointing:  # a layer is computed again once the logits are gone
        a_layer = _layer_bytes(config, model.config, longest) * rows
        at_once -= min(a_layer, sum(behind.values()))
    trained = {
        **(vllm if config.trainer.runs_per_gpu > 1 else {}),  # where it does not sleep
        "gradients": learning * FULL_BYTES // parts,
        "gathered weights and gradients": updated if is_sharded else 0,
        **({"rounded weights": weight_memory.rounded(model, policy)} if is_sharded else {}),
        "ledger": _ledger_vectors(config) * learning * FULL_BYTES,
        "activations": int(at_once),
        **behind,
    }
    return (
        Phase("rollout", kept | rollout, TALK_IN_LESS),
        Phase("update", kept | trained, SHARD * _may_shard(config) + LEARN_IN_LESS),
    )


def of_reading(config: RunConfig, folder: Path | None, prompt_tokens: int = 0) -> Phase:
    """What a policy needs that talks by itself and learns no more, as in a probe: no optimiser, no
    vLLM, and whole weights. See `phases`.
    """
    trainer = replace(
        config.trainer, engine="transformers", engine_tensor_parallel=1, engine_url="", shard="none"
    )
    talking, _ = phases(replace(config, trainer=trainer), folder, 0, prompt_tokens)
    parts = {name: size for name, size in talking.parts.items() if name != "optimiser"}
    return Phase("conversations", parts, READ_IN_LESS)


def _may_shard(config: RunConfig) -> bool:
    """Whether trainer.shard=full would be taken, and is not chosen."""
    trainer = config.trainer
    alone = trainer.world == 1 or trainer.shard != "none"
    return not (alone or config.policy.lora_rank) and trainer.engine in ("auto", "transformers")


def _ledger_vectors(config: RunConfig) -> int:
    """Vectors of all weights that learn, beside a step's own: sums, moves, and sums without
    remedies of each draw.
    """
    if not language_ledger.is_kept(config):
        return 0
    units = int(moves.units(config.trainer.conversations, config.algorithm.group_size).max()) + 1
    draws = min(config.eval.ledger_draws, units - 1)
    return LEDGER_VECTORS + (3 if config.remedy.methods else 2) * draws


def _layer_bytes(config: RunConfig, shape: Any, tokens: int) -> float:
    """Activations of one layer, for so many tokens."""
    policy = config.policy
    every = activation_bytes(shape, policy.dtype, policy.lora_rank > 0, again=False)
    return tokens * every / int(shape.num_hidden_layers)


def _piece(vocabulary: int, device: str) -> int:
    """Most tokens whose logits are held at once."""
    most = LOGITS_AT_ONCE_ON_A_CPU if device == "cpu" else LOGITS_AT_ONCE
    return max(1, most // vocabulary)


def _at_once(
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


def _cache_bytes(config: RunConfig, shape: Any, prompt_tokens: int) -> int:
    """Keys and values of a batch, or of an evaluation's slice, whose conversations are all as long
    as they can be: the learner's, unless vLLM has them, and the start model's, where it reads.
    """
    batch, turns = config.conversations_of_a_rank, conversation_length.most_turns(config)
    longest = conversation_length.most_tokens(config, turns, prompt_tokens)
    told = conversation_length.told_tokens(config)
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


def check(needed: Sequence[Phase], free_bytes: int) -> str | None:
    """A warning where a phase needs more than `free_bytes` by the estimate, which may be too high;
    None where all of them fit. Raises DeviceError where one needs over MOST_OVER times as much.
    """
    largest = max(needed, key=lambda phase: phase.total)
    if largest.total <= free_bytes:
        return None
    said = (
        f"trainer.gpus: the run needs about {largest}, and the GPU has {_gb(free_bytes)} for it; "
        + largest.advice
    )
    if largest.total > MOST_OVER * free_bytes:
        raise DeviceError(said)
    return f"{said}; it is tried all the same, since this is within {MOST_OVER:g} times of it"


def summary(needed: Sequence[Phase]) -> str:
    """The estimate in one line."""
    return f"GPU memory, estimated: {'; '.join(map(str, needed))}"


def _key_value_width(shape: Any) -> int:
    """Width of one layer's keys; configs leave out what follows from the rest."""
    heads = shape.num_attention_heads
    size = getattr(shape, "head_dim", None) or shape.hidden_size // heads
    return int(size * (getattr(shape, "num_key_value_heads", None) or heads))


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
