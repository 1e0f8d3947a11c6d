"""Room on the disk: what runs write at the least, against what is free before the first starts."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import FolderError
from harness.records import checkpoints

ROW_BYTES = 2_700
"""Of metrics.jsonl, as measured."""
TABULAR_BYTES = 40_000
"""Of a checkpoint, as measured."""
LEARNT_BYTES = 12
"""Of a weight that learns: itself and Adam's two moments, fp32."""


def check(configs: Sequence[RunConfig], where: Path) -> None:
    """Raise FolderError if less is free at `where` than rows and checkpoints of the runs take."""
    needed, free = sum(map(least_bytes, configs)), _free_bytes(where)
    if needed > free:
        runs = f"{len(configs)} run{'s' * (len(configs) != 1)}"
        raise FolderError(
            f"{where}: rows and checkpoints of {runs} take at least {_gb(needed)}, and "
            f"{_gb(free)} are free; free some, or choose fewer trainer.steps or another folder"
        )


def least_bytes(config: RunConfig) -> int:
    """What a run leaves behind, without its conversations."""
    trainer = config.trainer
    kept = min(checkpoints.KEEP, math.ceil(trainer.steps / trainer.checkpoint_every))
    return trainer.steps * ROW_BYTES + kept * _checkpoint_bytes(config.policy)


def _checkpoint_bytes(policy: PolicyConfig) -> int:
    return TABULAR_BYTES if policy.kind == "tabular" else LEARNT_BYTES * _learnt(policy)


def _learnt(policy: PolicyConfig) -> int:
    """Weights that learn, by the shape that the config states."""
    width = policy.hidden_size
    head = policy.head_size or width // policy.attention_heads
    queries = policy.attention_heads * head
    keys = (policy.key_value_heads or policy.attention_heads // 2) * head
    inner = policy.feed_forward_size or 3 * width
    linear = [(width, queries), (width, keys), (width, keys), (queries, width)]
    linear += [(width, inner), (width, inner), (inner, width)]
    if policy.lora_rank:
        return policy.layers * sum(policy.lora_rank * (a + b) for a, b in linear)
    words = policy.vocabulary * width * (1 if policy.tied_head else 2)
    return words + policy.layers * sum(a * b for a, b in linear)


def _free_bytes(path: Path) -> int:
    """Of the folder, or of the one it is to be made in."""
    there = path.absolute()
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free


def _gb(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
