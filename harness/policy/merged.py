"""Merges a model's trained LoRA adapters into its weights, as a self-contained folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from peft import get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import huggingface
from harness.policy.tiny import saving
from harness.records import atomic

WEIGHTS = "adapter_model.safetensors"


def write(policy: PolicyConfig, base: Path | None, adapters: Path, folder: Path) -> None:
    """Write the config and the weights of `base` merged with `adapters` into `folder`.

    The sum is computed and stored in float32, because bfloat16 would round away most of the
    adapters. `base` is the model's folder, or None for the config's random weights. Raises
    ConfigError for adapters of another model, OSError.
    """
    plain = huggingface.load_model(replace(policy, dtype="float32"), base, "cpu")
    model = huggingface.with_adapters(policy, plain)
    load_adapters(model, adapters)
    with atomic.pinned(folder) as pinned, saving():
        model.merge_and_unload().save_pretrained(pinned)


def load_adapters(model: Any, adapters: Path) -> None:
    """Load the trained adapters saved in the folder `adapters` into a model with adapters.

    Only the tensors are read. Raises ConfigError if their shapes do not match the model, OSError.
    """
    saved, expected = load_file(adapters / WEIGHTS), get_peft_model_state_dict(model)
    mismatched = sorted(
        name
        for name in saved.keys() | expected.keys()
        if name not in saved or name not in expected or saved[name].shape != expected[name].shape
    )
    if mismatched:
        raise ConfigError(
            f"{adapters / WEIGHTS}: adapters must fit the linear layers of the model that "
            f"policy.model names, got {len(mismatched)} tensors that do not, {mismatched[0]} among "
            "them"
        )
    set_peft_model_state_dict(model, saved)
