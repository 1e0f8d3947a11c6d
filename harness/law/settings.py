"""Read values of a run's config.yaml, of any version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.config import trainer


def setting(config: Mapping[str, Any] | None, group: str, key: str) -> Any:
    """Return the value of GROUP.KEY in a config of any version; None if the key is missing."""
    values = (config or {}).get(group)
    return values.get(key) if isinstance(values, dict) else None


def evaluated_every(config: Mapping[str, Any] | None) -> int | None:
    """Return the number of steps between evaluations; None if the config does not state it."""
    steps, every = setting(config, "trainer", "steps"), setting(config, "trainer", "eval_every")
    if not isinstance(steps, int) or not isinstance(every, int | None):
        return None
    return trainer.evaluated_every(steps, every)
