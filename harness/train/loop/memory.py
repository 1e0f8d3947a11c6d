"""Estimate of a Hugging Face policy's GPU memory, by part, before anything is loaded.

Activations are what autograd keeps of a Qwen3 block, counted on a CPU at three feed-forward sizes:
so many bytes a token for each hidden unit and each feed-forward unit. (Korthikanti et al., arXiv
2205.05198, section 4.1, come to 34 a hidden unit for another block and 16 bits throughout.)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig
from harness.errors import DeviceError
from harness.policy import huggingface
from harness.train.engines.scoring import LOGITS_AT_ONCE
from harness.train.objective.language_loss import ROWS_AT_ONCE

USER_TOKENS = 64
"""Typical length of a user's turn with the template around it."""
LOGIT_COPIES = 4
"""Logits, their distribution, its gradient and the exponentials of the entropy."""
ACTIVATION_BYTES = {
    ("float32", False): (49, 16, 5),
    ("float32", True): (49, 16, 5),
    ("bfloat16", False): (43, 9, 5),
    ("bfloat16", True): (33, 8, 2.5),
}
"""Of a hidden and of a feed-forward unit, by what passes compute in and whether adapters learn;
last, of a hidden unit where a layer's are computed again, one layer at a time."""
FULL_BYTES = 4


def estimate_bytes(config: RunConfig, folder: Path | None) -> dict[str, int]:
    """Bytes by part; `folder`: the model's files, None for random weights of the policy's shape."""
    policy, trainer = config.policy, config.trainer
    model = huggingface.without_weights(policy, folder)
    shape, count = model.config, sum(p.numel() for p in model.parameters())
    kept_bytes = getattr(torch, policy.dtype).itemsize if policy.lora_rank else FULL_BYTES
    learning = _adapters(model, policy.lora_rank) if policy.lora_rank else count
    tokens = config.difficulty.turn_cap * (policy.max_turn_tokens + USER_TOKENS)
    heads = _key_value_width(shape)
    state_bytes = getattr(torch, policy.dtype).itemsize
    per_token = activation_bytes(policy, shape)
    return {
        "weights": count * kept_bytes + (learning * FULL_BYTES if policy.lora_rank else 0),
        "start model": count * kept_bytes,
        "gradients": learning * FULL_BYTES,
        "optimiser": learning * 2 * FULL_BYTES,
        "keys and values": 2 * 2 * shape.num_hidden_layers * heads * state_bytes
        * trainer.conversations * tokens,
        "activations": int(ROWS_AT_ONCE * tokens * per_token),
        "logits": LOGIT_COPIES * LOGITS_AT_ONCE * FULL_BYTES,
    }  # fmt: skip


def with_engine(parts: Mapping[str, int], config: RunConfig, total_bytes: int) -> dict[str, int]:
    """The parts with the run's engine: under vLLM only the start model's keys are kept here."""
    engine = engine_choice.chosen(config)
    if engine == engine_choice.TRANSFORMERS:
        return dict(parts)
    share = config.trainer.gpu_memory_share if engine == engine_choice.COLOCATED else 0
    halved = {"keys and values": parts["keys and values"] // 2}
    return {**parts, **halved, "vLLM": int(share * total_bytes)}


def check(parts: Mapping[str, int], free_bytes: int) -> None:
    """Raise DeviceError if the parts need more than `free_bytes`."""
    needed = sum(parts.values())
    if needed > free_bytes:
        listed = ", ".join(f"{name} {_gb(size)}" for name, size in parts.items())
        raise DeviceError(
            f"trainer.gpus: the run needs about {_gb(needed)} ({listed}), "
            f"and the GPU has {_gb(free_bytes)} free; policy.lora_rank=32, "
            "policy.gradient_checkpointing=true or fewer trainer.conversations need less"
        )


def summary(parts: Mapping[str, int]) -> str:
    """The estimate in one line."""
    listed = ", ".join(f"{name} {_gb(size)}" for name, size in parts.items())
    return f"GPU memory, estimated: {_gb(sum(parts.values()))} ({listed})"


def activation_bytes(policy: PolicyConfig, shape: Any) -> float:
    """Bytes of activations for each token."""
    a_hidden, a_wide, a_recomputed = ACTIVATION_BYTES[policy.dtype, policy.lora_rank > 0]
    wide = getattr(shape, "intermediate_size", None) or 4 * shape.hidden_size
    a_layer = a_hidden * shape.hidden_size + a_wide * wide
    if not policy.gradient_checkpointing:
        return float(shape.num_hidden_layers * a_layer)
    return float(a_layer + shape.num_hidden_layers * shape.hidden_size * a_recomputed)


def _key_value_width(shape: Any) -> int:
    """Width of one layer's keys; configs leave out what follows from the rest."""
    heads = shape.num_attention_heads
    size = getattr(shape, "head_dim", None) or shape.hidden_size // heads
    return int(size * (getattr(shape, "num_key_value_heads", None) or heads))


def _adapters(model: Any, rank: int) -> int:
    """Number of weights in adapters on every linear layer but the head."""
    head = model.get_output_embeddings()
    linear = [m for m in model.modules() if isinstance(m, torch.nn.Linear) and m is not head]
    return sum(rank * (m.in_features + m.out_features) for m in linear)


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
