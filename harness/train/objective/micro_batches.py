"""The size of micro-batches, chosen so that activations fit into memory.

Activations are the tensors that autograd keeps of a Qwen3 block, measured on a CPU at three
feed-forward sizes, in bytes per token for each hidden unit and each feed-forward unit. (Korthikanti
et al., arXiv 2205.05198, section 4.1, arrive at 34 per hidden unit for another block in 16 bits.)
The vocabulary does not count: logits are computed in pieces, each freed before the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from harness.config.trainer import TrainerConfig
from harness.records import atomic
from harness.train.engines.scoring import by_length

FILE = "micro_batches.json"
"""File in a checkpoint."""
ROWS_AT_ONCE = 8
"""Most conversations in one forward and backward if trainer.tokens_at_once is not set; more would
hardly use a device better."""
ACTIVATIONS_AT_ONCE_ON_A_CPU = 2**29
"""512 MB; a CPU is no faster with more. A single conversation may take more."""
SHARE_OF_A_GPU = 0.5
"""Share for activations of the GPU memory left by weights, gradients and optimiser. The rest is for
the start model, rounded weights, logits and memory lost to fragmentation."""
ACTIVATION_BYTES = {
    ("float32", False): (49, 16, 5),
    ("float32", True): (49, 16, 5),
    ("bfloat16", False): (43, 9, 5),
    ("bfloat16", True): (33, 8, 2.5),
}
"""Bytes per hidden unit, per feed-forward unit, and per hidden unit with activation checkpointing,
by the dtype that is computed in and whether only adapters learn."""
LEARNING_BYTES = 12
"""Bytes per trainable weight in addition to itself: its gradient and Adam's two moments."""


Result = TypeVar("Result")
OnLower = Callable[[int, int], None]
"""Called with the new limit of tokens and the number of the rank that ran out of memory."""


class ShardedOutOfMemory(Exception):
    """Memory ran out in an update of sharded weights, which a single rank cannot repeat alone."""


class TokenLimit:
    """The limit of tokens in one pass through a model: trainer.tokens_at_once, or an estimate.

    It is halved whenever memory runs out, for the rest of the run.
    """

    def __init__(
        self,
        most: int | None = None,
        on_lower: OnLower = lambda tokens, rank: None,
        before_part: Callable[[], None] = lambda: None,
        runs_per_gpu: int = 1,
    ) -> None:
        """`on_lower` is called when memory runs out, with the new limit and the rank. `before_part`
        is called before each micro-batch of an update and may raise to stop it. `runs_per_gpu`:
        number of runs that share the GPU's memory.
        """
        self.most = most
        """Tokens including padding; None for the estimate. A single conversation may exceed it."""
        self._on_lower, self.before_part = on_lower, before_part
        self._runs_per_gpu = runs_per_gpu

    def cut(self, model: Any, lengths: Sequence[int]) -> list[list[int]]:
        """Return the conversation numbers of each micro-batch, grouped by similar length.

        A pass without gradients uses the same micro-batches, so that its log-probabilities are
        bit-identical.
        """
        if self.most is None:
            return by_length(lengths, ROWS_AT_ONCE, tokens_at_once(model, self._runs_per_gpu))
        return by_length(lengths, len(lengths), self.most)

    def within(
        self,
        model: Any,
        lengths: Sequence[int],
        work: Callable[[Sequence[list[int]]], Result],
        undo: Callable[[], None] = lambda: None,
    ) -> Result:
        """Return the result of `work` on the conversations' micro-batches.

        If the device runs out of memory, call `undo` and try again with half as many tokens at
        once. Raises OutOfMemoryError if each conversation is already alone.
        """
        while True:
            parts = self.cut(model, lengths)
            try:
                return work(parts)
            except torch.OutOfMemoryError:
                divisible = [len(part) * lengths[part[-1]] for part in parts if len(part) > 1]
                if not divisible:
                    raise
            # outside the handler the error no longer holds the frames with the computed tensors
            undo()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self.lower(max(divisible) // 2)

    def lower(self, most: int, rank: int = 0) -> None:
        """Limit passes to `most` tokens from now on, since memory ran out on `rank`."""
        if self.most is None or most < self.most:
            self.most = most
            self._on_lower(most, rank)


def begin(
    trainer: TrainerConfig,
    checkpoint: Path | None,
    on_lower: OnLower = lambda tokens, rank: None,
    before_part: Callable[[], None] = lambda: None,
) -> TokenLimit:
    """Return the limit at the start of a run, or as saved in `checkpoint`."""
    most = trainer.tokens_at_once
    if checkpoint is not None and (checkpoint / FILE).is_file():
        most = int(json.loads((checkpoint / FILE).read_text(encoding="utf-8"))["tokens_at_once"])
    return TokenLimit(most, on_lower, before_part, trainer.runs_per_gpu)


def save(limit: TokenLimit, folder: Path) -> None:
    """Write the limit to `folder` for `begin`; nothing if it is only the estimate."""
    if limit.most is not None:
        text = json.dumps({"tokens_at_once": limit.most})
        atomic.write_text(folder / FILE, text, durable=False)  # the checkpoint syncs it


def tokens_at_once(model: Any, runs_per_gpu: int = 1) -> int:
    """Return the most tokens, with padding, of a forward and backward of `model` on its device."""
    device = model.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32
    has_adapters = not all(p.requires_grad for p in model.parameters())
    computed = "bfloat16" if dtype == torch.bfloat16 else "float32"
    size = activation_bytes(model.config, computed, has_adapters, computes_again(model))
    return int(_budget(model, runs_per_gpu) // size)


def computes_again(model: Any) -> bool:
    """Return whether activations are checkpointed; transformers 5.23 renamed the attribute."""
    if hasattr(model, "is_activation_checkpointing"):
        return bool(model.is_activation_checkpointing)
    return bool(model.is_gradient_checkpointing)


def _budget(model: Any, runs_per_gpu: int) -> int:
    """Return the bytes available for activations on the device of `model`."""
    if model.device.type != "cuda":
        return ACTIVATIONS_AT_ONCE_ON_A_CPU
    total: int = torch.cuda.get_device_properties(model.device).total_memory
    return budget_of_a_gpu(total // runs_per_gpu, held_bytes(model))


def held_bytes(model: Any) -> int:
    """Return the bytes of a model's weights, gradients and optimiser on this rank."""
    local = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    return sum(p.nbytes + LEARNING_BYTES * p.numel() * p.requires_grad for p in local)


def budget_of_a_gpu(total_bytes: int, held_bytes: int) -> int:
    """Return the bytes for activations on a GPU of which `held_bytes` are in use."""
    return int(SHARE_OF_A_GPU * max(0, total_bytes - held_bytes))


def activation_bytes(shape: Any, dtype: str, has_adapters: bool, recomputes: bool) -> float:
    """Return the bytes of activations per token.

    `shape`: the model's config; `recomputes`: whether backward recomputes a layer's activations.
    """
    per_hidden, per_wide, per_recomputed = ACTIVATION_BYTES[dtype, has_adapters]
    width = getattr(shape, "intermediate_size", None) or 4 * shape.hidden_size
    layer = per_hidden * shape.hidden_size + per_wide * width
    if not recomputes:
        return float(shape.num_hidden_layers * layer)
    return float(layer + shape.num_hidden_layers * shape.hidden_size * per_recomputed)
