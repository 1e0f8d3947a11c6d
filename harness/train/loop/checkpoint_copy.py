"""A copy of a language model's checkpoint in memory, written while training goes on.

Weights and the optimiser's moments are copied to the CPU. The other files that TRL saves are small;
their bytes are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.trainer import OPTIMIZER_NAME

from harness.policy.tiny import saving
from harness.records import atomic, checkpoints


class CheckpointCopy:
    """The content of one checkpoint, filled by the trainer and then written once."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._weights: dict[str, Tensor] = {}
        self._optimiser: Any = None

    def take_weights(self, model: Any, is_sharded: bool = False) -> None:
        """Copy the weights that `model` would save: all, or only its adapters if it has any.

        Sharded weights were gathered for this, so they are a copy already.
        """
        state = model.state_dict()
        if hasattr(model, "peft_config"):
            trainable = {name for name, p in model.named_parameters() if p.requires_grad}
            state = {name: tensor for name, tensor in state.items() if name in trainable}
        self._weights = state if is_sharded else copy_to_cpu(state, {})

    def take_optimiser(self, optimiser: Any, is_sharded: bool = False) -> None:
        """Copy the optimiser's state; with sharded weights it is gathered, hence a copy."""
        state = optimiser.state_dict()
        self._optimiser = state if is_sharded else copy_to_cpu(state, {})

    def take_files(self, folder: Path) -> None:
        """Read the files in `folder`, which must not contain folders."""
        self._files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def write(self, model: Any, folder: Path) -> None:
        """Write everything below `folder`, as the trainer itself would. Raises OSError.

        Only the structure of `model` is used, since its weights may have changed.
        """
        with atomic.pinned(folder) as pinned, saving():
            inner = pinned / checkpoints.MODEL
            inner.mkdir()
            model.save_pretrained(inner, state_dict=self._weights)
            torch.save(self._optimiser, inner / OPTIMIZER_NAME)
            for name, data in self._files.items():
                atomic.write_bytes(inner / name, data, durable=False)


def copy_to_cpu(value: Any, copies: dict[tuple[Any, ...], Tensor]) -> Any:
    """Return `value` with its tensors copied to the CPU; shared tensors remain shared.

    `copies`: those made so far, by a key that identifies a tensor.
    """
    if isinstance(value, Tensor):
        key = value.device, value.data_ptr(), value.shape, value.stride(), value.dtype
        if not value.numel():
            return value.detach().cpu().clone()
        if key not in copies:
            copies[key] = value.detach().to("cpu", copy=True)
        return copies[key]
    if isinstance(value, dict):
        return type(value)((k, copy_to_cpu(v, copies)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return type(value)(copy_to_cpu(v, copies) for v in value)
    return value
