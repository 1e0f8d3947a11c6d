"""A model without its adapters: what it is, and its weights with what the adapters add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

ADAPTED = ".base_layer"
"""What peft puts behind the name of a layer that it wraps."""


def plain_model(model: Any) -> Any:
    """The model that adapters are put on; itself without any."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@torch.no_grad()
def plain_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Every weight, one at a time, with what adapters add to it; tied ones once.

    The sum is made beside the weight and in fp32: merging into a bfloat16 weight and taking the
    adapter out again would not give the same weight back.
    """
    inner = plain_model(model)
    for name, weight in inner.named_parameters():
        layer, adapted, kind = name.partition(ADAPTED)
        if adapted:
            added = inner.get_submodule(layer).get_delta_weight if kind == ".weight" else None
            yield layer + kind, weight.float() + added("default") if added else weight
        elif ".lora_" not in name:
            yield name, weight.detach()
