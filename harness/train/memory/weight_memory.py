"""GPU memory of a policy's weights on one rank: kept, gathered, rounded, and copied.

Models in this module have shapes but no weights. With trainer.shard=full a rank keeps its shards of
the weights and gathers some whole weights for a while.
"""

from __future__ import annotations

from typing import Any

import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.policy import huggingface
from harness.train.objective import registry

FULL_BYTES = 4
"""Bytes of a weight in float32."""
GATHERED_BLOCKS = 5
"""Memory of gathered layers in an update, as a number of layers: weights of the current and of the
next layer, the gradient of the current one, and the transfers for both.
"""


def parts_of(config: RunConfig) -> int:
    """Return the number of shards that the weights are divided into; a rank has one of them."""
    return 1 if config.trainer.shard == "none" else config.trainer.world


def learning(model: Any, policy: PolicyConfig) -> int:
    """Return the number of trainable weights: all, or adapters of linear layers but the head."""
    return _adapters(model, policy.lora_rank) if policy.lora_rank else _count(model)


def permanent_bytes(config: RunConfig, model: Any) -> dict[str, int]:
    """Return the bytes of each permanent part; `model`: without weights and without adapters."""
    policy, head = config.policy, model.get_output_embeddings().weight
    count, trainable = _count(model), learning(model, policy)
    adapters = trainable if policy.lora_rank else 0
    kept_bytes = getattr(torch, policy.dtype).itemsize if policy.lora_rank else FULL_BYTES
    is_sharded, parts = config.trainer.shard != "none", parts_of(config)
    copy_bytes = gathered_to_read(model, policy) // parts if is_sharded else count * kept_bytes
    return {
        "weights": (count * kept_bytes + adapters * FULL_BYTES) // parts,
        "start model": copy_bytes if has_a_copy(config) else 0,
        "optimiser": trainable * 2 * FULL_BYTES // parts,
        "rounded weights": 0 if is_sharded else rounded_copy_bytes(model, policy),
        "head in float32": head.numel() * FULL_BYTES if kept_bytes < FULL_BYTES else 0,
    }


def has_a_copy(config: RunConfig) -> bool:
    """Return whether the start model is a second copy of the weights.

    With adapters it is the same model with adapters switched off.
    """
    return not config.policy.lora_rank and registry.reads_start_model(config)


def gathered_to_read(model: Any, policy: PolicyConfig) -> int:
    """Return the bytes of a sharded model that is gathered for forward passes only.

    Linear layers' weights are gathered in the data type of the passes.
    """
    size: int = getattr(torch, policy.dtype).itemsize
    saved_bytes = (FULL_BYTES - size) * sum(m.weight.numel() for m in _linear(model))
    return FULL_BYTES * _count(model) - saved_bytes


def gathered_to_update(model: Any) -> int:
    """Return the bytes of the weights and gradients that a rank gathers in an update.

    Those outside the layers, including the head, are kept until the end of the micro-batch.
    """
    sizes = [sum(p.numel() for p in block.parameters()) for block in huggingface.blocks(model)]
    outside = _count(model) - sum(sizes)
    return int(FULL_BYTES * (2 * outside + GATHERED_BLOCKS * max(sizes, default=0)))


def rounded_copy_bytes(model: Any, policy: PolicyConfig) -> int:
    """Return the bytes of rounded copies that autocast keeps of float32 weights during a phase.

    It keeps them for trainable weights of linear layers.
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
