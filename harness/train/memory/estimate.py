"""Estimate of a Hugging Face policy's GPU memory by phase and part, and a check of it.

`weight_memory.py` estimates the memory of weights, `conversation_memory.py` that of conversations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import DeviceError
from harness.policy import huggingface
from harness.train.ledger import language_book, moves
from harness.train.memory import conversation_memory, weight_memory
from harness.train.memory.weight_memory import FULL_BYTES
from harness.train.objective.micro_batches import LEARNING_BYTES

LEDGER_VECTORS = 9
"""Vectors of the size of all trainable weights that the ledger needs besides its draws: Adam's two
moments, the slope, weights to restore, offset, a move, the whole gradient, a unit's gradient, and
one intermediate result.
"""
MOST_OVER = 1.3
"""An estimate up to this multiple of the free memory causes only a warning, since it assumes that
all conversations have the maximum length.
"""
TALK_IN_LESS = "fewer trainer.conversations or policy.max_turn_tokens need less"
LEARN_IN_LESS = (
    "policy.lora_rank=32, policy.gradient_checkpointing=true or a smaller trainer.tokens_at_once "
    "need less"
)
READ_IN_LESS = "on a CPU, with CUDA_VISIBLE_DEVICES=, it needs none"
SHARD = "trainer.shard=full, "


@dataclass(frozen=True)
class Phase:
    """Parts that are in memory at the same time."""

    name: str
    parts: Mapping[str, int]
    """Bytes of each part."""
    advice: str
    """Config keys that reduce it."""

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {_gb(size)}" for name, size in self.parts.items() if size)
        return f"{_gb(self.total)} in the {self.name} ({parts})"


def phases(
    config: RunConfig,
    folder: Path | None,
    total_bytes: int = 0,
    prompt_tokens: int = 0,
    device: str = "cuda",
) -> tuple[Phase, Phase]:
    """Return the two phases of a step that need most memory: rollout and update.

    They do not overlap: keys and values are freed before there are gradients and activations. A
    slice of an evaluation is as large as a batch. `folder`: the model's files, None for random
    weights; `total_bytes`: the run's share of the GPU, 0 if unknown; `prompt_tokens`: tokens of the
    system prompt and the template before the user's first words.

    With several ranks this is the memory of one; with sharded weights that is its shards and the
    weights it gathers. A critic's features are computed a micro-batch at a time and without
    gradients, which needs less than the update.
    """
    model = huggingface.without_weights(config.policy, folder)
    run = _Run(config, model, total_bytes, prompt_tokens, device)
    permanent = weight_memory.permanent_bytes(config, model)
    return (
        Phase("rollout", permanent | _rollout(run), TALK_IN_LESS),
        Phase(
            "update",
            permanent | _update(run, permanent["weights"]),
            SHARD * _may_shard(config) + LEARN_IN_LESS,
        ),
    )


@dataclass(frozen=True)
class _Run:
    """The inputs of an estimate; see `phases`."""

    config: RunConfig
    model: Any
    """The policy's model without weights."""
    total_bytes: int
    prompt_tokens: int
    device: str

    @property
    def is_sharded(self) -> bool:
        return self.config.trainer.shard != "none"

    @property
    def head(self) -> Any:
        """The weights of the output layer, one row per token of the vocabulary."""
        return self.model.get_output_embeddings().weight

    @property
    def vllm(self) -> int:
        """Bytes that vLLM reserves on this GPU."""
        is_colocated = engine_choice.engine_of(self.config) == engine_choice.COLOCATED
        return int(self.config.trainer.gpu_memory_share * self.total_bytes) if is_colocated else 0

    def logits(self, tokens: int) -> int:
        """Return the bytes needed for the logits at `tokens` positions."""
        return conversation_memory.logit_bytes(self.head.shape[0], tokens, self.device)


def _rollout(run: _Run) -> dict[str, int]:
    """Return a rollout's parts besides the permanent ones; conversations advance turn by turn."""
    config, policy = run.config, run.config.policy
    gathered = weight_memory.gathered_to_read(run.model, policy) if run.is_sharded else 0
    cache = conversation_memory.cache_bytes(config, run.model.config, run.prompt_tokens)
    return {
        "keys and values": cache,
        "logits": run.logits(policy.max_turn_tokens * config.conversations_of_a_rank),
        "vLLM": run.vllm,
        "gathered weights": gathered,
        "gathered start model": gathered if weight_memory.has_a_copy(config) else 0,
    }


def _update(run: _Run, weight_bytes: int) -> dict[str, int]:
    """Return an update's parts besides the permanent ones; the weights take `weight_bytes` of
    those.
    """
    config, policy, model = run.config, run.config.policy, run.model
    trainable, parts = weight_memory.learning(model, policy), weight_memory.parts_of(config)
    turns = config.most_replies
    longest = conversation_memory.most_tokens(config, turns, run.prompt_tokens)
    held_bytes = weight_bytes + trainable * LEARNING_BYTES // parts
    rows, activations = conversation_memory.micro_batch(
        config, model.config, longest, run.total_bytes, held_bytes, run.device
    )
    whole_head = not (policy.lora_rank or run.is_sharded)
    head_parts = {
        "logits": run.logits(policy.max_turn_tokens * turns * rows),
        "gradient of the head": run.head.numel() * FULL_BYTES if whole_head else 0,
    }
    if policy.gradient_checkpointing:  # layers are recomputed after the logits are freed
        layer = conversation_memory.layer_bytes(config, model.config, longest) * rows
        activations -= min(layer, sum(head_parts.values()))
    gathered = weight_memory.gathered_to_update(model) if run.is_sharded else 0
    return {
        **({"vLLM": run.vllm} if config.trainer.runs_per_gpu > 1 else {}),  # it does not sleep then
        "gradients": trainable * FULL_BYTES // parts,
        "gathered weights and gradients": gathered,
        **(
            {"rounded weights": weight_memory.rounded_copy_bytes(model, policy)}
            if run.is_sharded
            else {}
        ),
        "ledger": _ledger_vectors(config) * trainable * FULL_BYTES,
        "activations": int(activations),
        **head_parts,
    }


def of_reading(config: RunConfig, folder: Path | None, prompt_tokens: int = 0) -> Phase:
    """Return the phase of a policy that only holds conversations, as in a probe; see `phases`.

    It has whole weights, no optimiser and no vLLM.
    """
    trainer = replace(
        config.trainer, engine="transformers", engine_tensor_parallel=1, engine_url="", shard="none"
    )
    rollout, _ = phases(replace(config, trainer=trainer), folder, 0, prompt_tokens)
    parts = {name: size for name, size in rollout.parts.items() if name != "optimiser"}
    return Phase("conversations", parts, READ_IN_LESS)


def _may_shard(config: RunConfig) -> bool:
    """Return whether trainer.shard=full is possible and not chosen yet."""
    trainer = config.trainer
    is_whole = trainer.world > 1 and trainer.shard == "none"
    has_engine = trainer.engine in ("auto", "transformers")
    return is_whole and has_engine and not config.policy.lora_rank


def _ledger_vectors(config: RunConfig) -> int:
    """Return the number of vectors of all trainable weights that the ledger needs.

    These are LEDGER_VECTORS and, per draw: its sum, its move, and its sum without remedies.
    """
    if not language_book.is_kept(config):
        return 0
    units = int(moves.units(config.trainer.conversations, config.algorithm.group_size).max()) + 1
    draws = min(config.eval.ledger_draws, units - 1)
    return LEDGER_VECTORS + (3 if config.remedy.methods else 2) * draws


def check(needed: Sequence[Phase], free_bytes: int) -> str | None:
    """Return a warning if a phase needs more than `free_bytes`; None if all fit.

    Raises DeviceError if one needs more than MOST_OVER times as much.
    """
    largest = max(needed, key=lambda phase: phase.total)
    if largest.total <= free_bytes:
        return None
    message = (
        f"trainer.gpus: the run needs about {largest}, and the GPU has {_gb(free_bytes)} for it; "
        + largest.advice
    )
    if largest.total > MOST_OVER * free_bytes:
        raise DeviceError(message)
    return f"{message}; trying anyway, since the need is within {MOST_OVER:g} times of that"


def summary(needed: Sequence[Phase]) -> str:
    """Return the estimate as one line."""
    return f"GPU memory, estimated: {'; '.join(map(str, needed))}"


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
