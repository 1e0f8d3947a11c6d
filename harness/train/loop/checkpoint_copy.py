"""A copy of a language model's checkpoint in memory, to be written while training goes on.

Weights and the optimiser's moments are copied to the CPU; all else that TRL saves is small, and is
kept as the bytes of its files.
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
    """What one checkpoint holds; filled by the trainer, then written once."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._weights: dict[str, Tensor] = {}
        self._optimiser: Any = None

    def take_weights(self, model: Any, is_sharded: bool = False) -> None:
        """Copy what `model` would save: every weight, or its adapters where it has some; of sharded
        weights it has been gathered for this, and is a copy already.
        """
        state = model.state_dict()
        if hasattr(model, "peft_config"):
            learning = {name for name, p in model.named_parameters() if p.requires_grad}
            state = {name: tensor for name, tensor in state.items() if name in learning}
        self._weights = state if is_sharded else copied(state, {})

    def take_optimiser(self, optimiser: Any, is_sharded: bool = False) -> None:
        """Copy the optimiser's state; of sharded weights it is gathered, and so a copy already."""
        state = optimiser.state_dict()
        self._optimiser = state if is_sharded else copied(state, {})

    def take_files(self, folder: Path) -> None:
        """Keep the files that have been written to `folder`, and nothing below it."""
        self._files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def write(self, model: Any, folder: Path) -> None:
        """Write everything below `folder`, as the trainer itself would. Of `model` only the shape
        is read: its weights may have changed. Raises OSError.
        """
        with atomic.pinned(folder) as here, saving():
            inner = here / checkpoints.MODEL
            inner.mkdir()
            model.save_pretrained(inner, state_dict=self._weights)
            torch.save(self._optimiser, inner / OPTIMIZER_NAME)
            for name, data in self._files.items():
                atomic.write_bytes(inner / name, data, durable=False)


def copied(value: Any, met: dict[tuple[Any, ...], Tensor]) -> Any:
    """`value` with its tensors copied to the CPU; those that were one stay one.

    `met`: the copies so far, by what tells tensors apart.
    """
    if isinstance(value, Tensor):
        key = value.device, value.data_ptr(), value.shape, value.stride(), value.dtype
        if not value.numel():
            return value.detach().cpu().clone()
        if key not in met:
            met[key] = value.detach().to("cpu", copy=True)
        return met[key]
    if isinstance(value, dict):
        return type(value)((k, copied(v, met)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return type(value)(copied(v, met) for v in value)
    return value
