"""Conversion of a library's exception to a DeviceError, if the machine caused it."""

from __future__ import annotations

import re

from harness.errors import DeviceError
from harness.utils import safe_text

OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|out of memory|can't allocate memory")
NO_GPU = re.compile(r"\bCUDA\b|NVIDIA driver")
LESS_MEMORY = (
    "lower trainer.conversations or policy.max_turn_tokens; a Hugging Face policy needs less "
    "memory with policy.gradient_checkpointing=true or policy.lora_rank=32"
)
"""The first two keys are for rollouts; an update has already tried one conversation at once."""
LESS_AT_ONCE = "lower trainer.tokens_at_once, which trainer.shard=full cannot do by itself"


def explain(where: str, error: Exception) -> DeviceError | None:
    """Return a DeviceError with advice, or None for an exception that the machine did not cause.

    `where`: the run's path, or a name of the work that failed.
    """
    text = safe_text.escape_one_line(f"{type(error).__name__}: {error}")[:200]
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(text):
        sharded = type(error).__name__ == "ShardedOutOfMemory"  # its module imports torch
        advice = LESS_AT_ONCE if sharded else LESS_MEMORY
        return DeviceError(f"{where}: out of memory; {advice} ({text})")
    if isinstance(error, RuntimeError | AssertionError) and NO_GPU.search(text):
        return DeviceError(f"{where}: the GPU cannot be used; see `harness doctor` ({text})")
    return None
