"""How much of a GPU a policy's weights take on one rank: kept, gathered, rounded, and copied.

A model here has no weights, only their shapes. With trainer.shard=full a rank keeps a part of each
and has more of them whole for a while.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.policy import huggingface
from harness.train.objective import registry

FULL_BYTES = 4
"""Of a weight in float32."""
GATHERED_BLOCKS = 5
"""Of sharded weights in an update, in layers: the weights of the one that computes and of the next,
the gradient of the one, and what travels of both."""


def parts_of(config: RunConfig) -> int:
    """Number of parts of the weights, of which a rank has one."""
    return 1 if config.trainer.shard == "none" else config.trainer.world


def learning(model: Any, policy: PolicyConfig) -> int:
    """Number of weights that learn: adapters on every linear layer but the head, or all."""
    return _adapters(model, policy.lora_rank) if policy.lora_rank else _count(model)


def kept(config: RunConfig, model: Any) -> dict[str, int]:
    """Bytes by part, whatever the run is doing; `model`: without weights and without adapters."""
    policy, head = config.policy, model.get_output_embeddings().weight
    count, learn = _count(model), learning(model, policy)
    adapters = learn if policy.lora_rank else 0
    kept_bytes = getattr(torch, policy.dtype).itemsize if policy.lora_rank else FULL_BYTES
    is_sharded, parts = config.trainer.shard != "none", parts_of(config)
    a_copy = gathered_to_read(model, policy) // parts if is_sharded else count * kept_bytes
    return {
        "weights": (count * kept_bytes + adapters * FULL_BYTES) // parts,
        "start model": a_copy if has_a_copy(config) else 0,
        "optimiser": learn * 2 * FULL_BYTES // parts,
        "rounded weights": 0 if is_sharded else rounded(model, policy),
        "head in float32": head.numel() * FULL_BYTES if kept_bytes < FULL_BYTES else 0,
    }


def has_a_copy(config: RunConfig) -> bool:
    """Whether the start model is a second copy of the weights; without adapters it is the first."""
    return not config.policy.lora_rank and registry.reads_start_model(config)


def gathered_to_read(model: Any, policy: PolicyConfig) -> int:
    """Bytes of a model that ranks have parts of, whole while it only reads: weights of linear
    layers are gathered as the passes round them.
    """
    size: int = getattr(torch, policy.dtype).itemsize
    rounded_away = (FULL_BYTES - size) * sum(m.weight.numel() for m in _linear(model))
    return FULL_BYTES * _count(model) - rounded_away


def gathered_to_update(model: Any) -> int:
    """Bytes of the weights and gradients that a rank has whole while it updates sharded ones: of
    what is outside the layers, the head among them, until the micro-batch is over.
    """
    sizes = [sum(p.numel() for p in block.parameters()) for block in huggingface.blocks(model)]
    outside = _count(model) - sum(sizes)
    return int(FULL_BYTES * (2 * outside + GATHERED_BLOCKS * max(sizes, default=0)))


def rounded(model: Any, policy: PolicyConfig) -> int:
    """Copies of fp32 weights in the data type of the passes, which autocast keeps for a phase: of
    those that linear layers multiply by and that learn.
    """
    if policy.lora_rank or policy.dtype == "float32":
        return 0
    size: int = getattr(torch, policy.dtype).itemsize
    return size * sum(m.weight.numel() for m in _linear(model))


def _count(model: Any) -> int:
    return sum(p.numel() for p in model.parameters())


def _adapters(model: Any, rank: int) -> int:
    """Number of weights in adapters on every linear layer but the head."""
    return sum(rank * (m.in_features + m.out_features) for m in _linear(model))


def _linear(model: Any) -> list[torch.nn.Linear]:
    """Every linear layer but the head."""
    head = model.get_output_embeddings()
    return [m for m in model.modules() if isinstance(m, torch.nn.Linear) and m is not head]
