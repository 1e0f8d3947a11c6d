"""How many conversations pass through a model together: as many as keep its activations small.

Activations are what autograd keeps of a Qwen3 block, counted on a CPU at three feed-forward sizes:
so many bytes a token for each hidden unit and each feed-forward unit. (Korthikanti et al., arXiv
2205.05198, section 4.1, come to 34 a hidden unit for another block and 16 bits throughout.) The
vocabulary does not count: logits are made in pieces, and each piece is gone before the next.
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
"""Of a checkpoint."""
ROWS_AT_ONCE = 8
"""Most conversations of one forward and backward where trainer.tokens_at_once is not set; few of
them would fill a device any better."""
ACTIVATIONS_AT_ONCE_ON_A_CPU = 2**29
"""512 MB: a CPU is no faster with more. One conversation alone may take more."""
SHARE_OF_A_GPU = 0.5
"""Share for activations of what weights, gradients and optimiser leave of a GPU. The rest is for a
start model beside the learner, rounded weights, logits, and what is lost between blocks."""
ACTIVATION_BYTES = {
    ("float32", False): (49, 16, 5),
    ("float32", True): (49, 16, 5),
    ("bfloat16", False): (43, 9, 5),
    ("bfloat16", True): (33, 8, 2.5),
}
"""Of a hidden and of a feed-forward unit, by what passes compute in and whether adapters learn;
last, of a hidden unit where a layer's are computed again, one layer at a time."""
LEARNING_BYTES = 12
"""Of a weight that learns, beside itself: its gradient and the two moments of Adam."""


Result = TypeVar("Result")
Told = Callable[[int, int], None]
"""Called with tokens at once, and the number of a rank."""


class ShardedOutOfMemory(Exception):
    """Memory ran out in an update of sharded weights, which a rank cannot begin again alone."""


class TokenLimit:
    """How many tokens of conversations pass through a model at once: trainer.tokens_at_once, or as
    many as the estimate says. Where memory runs out it is halved, and stays so.
    """

    def __init__(
        self,
        most: int | None = None,
        told: Told = lambda tokens, rank: None,
        before_part: Callable[[], None] = lambda: None,
        runs_per_gpu: int = 1,
    ) -> None:
        """`told` is called with each new limit after an out-of-memory, and the rank that had it;
        `before_part` before each micro-batch of an update: it may raise to stop. `runs_per_gpu`:
        runs that share the GPU's memory.
        """
        self.most = most
        """Tokens, padding included; a conversation alone may have more. None: the estimate's."""
        self._told, self.before_part = told, before_part
        self._runs_per_gpu = runs_per_gpu

    def cut(self, model: Any, lengths: Sequence[int]) -> list[list[int]]:
        """The conversations of each forward and backward, by number, of similar length.

        A pass without gradients has the same ones, so that its log-probabilities are the same bits.
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
        """What `work` makes of the conversations' micro-batches; with half as many tokens at once,
        after `undo`, where the device ran out of memory.

        Raises OutOfMemoryError once each conversation is alone.
        """
        while True:
            parts = self.cut(model, lengths)
            try:
                return work(parts)
            except torch.OutOfMemoryError:
                shared = [len(part) * lengths[part[-1]] for part in parts if len(part) > 1]
                if not shared:
                    raise
            # out here the error is gone, and with it the frames that held what had been computed
            undo()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self.lower(max(shared) // 2)

    def lower(self, most: int, rank: int = 0) -> None:
        """Have at most `most` tokens from now on, since memory ran out on `rank`."""
        if self.most is None or most < self.most:
            self.most = most
            self._told(most, rank)


def begin(
    trainer: TrainerConfig,
    checkpoint: Path | None,
    told: Told = lambda tokens, rank: None,
    before_part: Callable[[], None] = lambda: None,
) -> TokenLimit:
    """The limit at the start of a run with this config, or as saved in `checkpoint`."""
    most = trainer.tokens_at_once
    if checkpoint is not None and (checkpoint / FILE).is_file():
        most = int(json.loads((checkpoint / FILE).read_text(encoding="utf-8"))["tokens_at_once"])
    return TokenLimit(most, told, before_part, trainer.runs_per_gpu)


def save(limit: TokenLimit, folder: Path) -> None:
    """Write to `folder` what `begin` reads; nothing where there is no limit but the estimate's."""
    if limit.most is not None:
        text = json.dumps({"tokens_at_once": limit.most})
        atomic.write_text(folder / FILE, text, durable=False)  # which the checkpoint sees to


def tokens_at_once(model: Any, runs_per_gpu: int = 1) -> int:
    """Most tokens of a forward and backward of `model` on its device, padding included."""
    device = model.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32
    has_adapters = not all(p.requires_grad for p in model.parameters())
    computed = "bfloat16" if dtype == torch.bfloat16 else "float32"
    size = activation_bytes(model.config, computed, has_adapters, computes_again(model))
    return int(_budget(model, runs_per_gpu) // size)


def computes_again(model: Any) -> bool:
    """Whether activations are checkpointed; transformers 5.23 renamed what says so."""
    if hasattr(model, "is_activation_checkpointing"):
        return bool(model.is_activation_checkpointing)
    return bool(model.is_gradient_checkpointing)


def _budget(model: Any, runs_per_gpu: int) -> int:
    """Bytes of activations on the device of `model`."""
    if model.device.type != "cuda":
        return ACTIVATIONS_AT_ONCE_ON_A_CPU
    total: int = torch.cuda.get_device_properties(model.device).total_memory
    return budget_of_a_gpu(total // runs_per_gpu, held_bytes(model))


def held_bytes(model: Any) -> int:
    """Bytes of its weights, gradients and optimiser; of sharded ones, of this rank's parts."""
    here = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    return sum(p.nbytes + LEARNING_BYTES * p.numel() * p.requires_grad for p in here)


def budget_of_a_gpu(total_bytes: int, held_bytes: int) -> int:
    """Bytes of activations on a GPU, whose weights, gradients and optimiser take `held_bytes`."""
    return int(SHARE_OF_A_GPU * max(0, total_bytes - held_bytes))


def activation_bytes(shape: Any, dtype: str, has_adapters: bool, again: bool) -> float:
    """Bytes of activations for each token.

    `shape`: the model's config; `again`: a layer's activations are computed again in backward.
    """
    a_hidden, a_wide, a_recomputed = ACTIVATION_BYTES[dtype, has_adapters]
    wide = getattr(shape, "intermediate_size", None) or 4 * shape.hidden_size
    a_layer = a_hidden * shape.hidden_size + a_wide * wide
    if not again:
        return float(shape.num_hidden_layers * a_layer)
    return float(a_layer + shape.num_hidden_layers * shape.hidden_size * a_recomputed)
