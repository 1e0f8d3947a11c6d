"""Axes that would change nothing: runs alike under two names look like a finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.config.run import RunConfig
from harness.errors import ConfigError

OF_LANGUAGE_MODELS = (
    "policy.",
    "algorithm.adam_",
    "algorithm.max_grad_norm",
    "trainer.engine",
    "trainer.gpu_memory_share",
)
"""How the keys begin that a table has no use for."""
OF_EVERY_POLICY = {"policy.name", "policy.kind", "policy.temperature"}
OF_LATER_UPDATES = {"algorithm.clip_low", "algorithm.clip_high"}


def refuse(configs: Sequence[RunConfig], swept: Iterable[str]) -> None:
    """Raises ConfigError for a swept key that no run of the sweep heeds."""
    for key in swept:
        reasons = [_idle(config, key) for config in configs]
        if all(reasons):
            raise ConfigError(f"{key}: must not be swept where it changes no run: {reasons[0]}")


def _idle(config: RunConfig, key: str) -> str | None:
    of_language = key.startswith(OF_LANGUAGE_MODELS) and key not in OF_EVERY_POLICY
    if of_language and config.policy.kind == "tabular":
        return f"policy={config.policy.name} has no use for it"
    if key in OF_LATER_UPDATES and config.trainer.updates_per_batch == 1:
        return "with trainer.updates_per_batch=1 every ratio is 1, and nothing is clipped"
    return None
