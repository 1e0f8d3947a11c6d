"""How many runs a vLLM server takes at once: one that writes weights, or several with adapters."""

from __future__ import annotations

from collections.abc import Iterable

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.train.engines import vllm_address


def shared(config: RunConfig) -> dict[str, int]:
    """Places at each server that a run with adapters may have one of; empty for another run."""
    if engine_choice.chosen(config) != engine_choice.ADAPTERS:
        return {}
    return {url: _places(url) for url in engine_choice.addresses(config)}


def in_all(configs: Iterable[RunConfig]) -> int | None:
    """How many of these runs fit at once at the servers that they name; None if one names none."""
    room = dict[str, int]()
    for config in configs:
        urls = engine_choice.addresses(config)
        if not urls:
            return None
        if set(urls) - room.keys():
            room |= shared(config) or dict.fromkeys(urls, 1)
    return sum(room.values())


def _places(url: str) -> int:
    """At least one: a run whose server takes no adapters, or is gone, says so in its own words."""
    try:
        return max(1, vllm_address.places(url))
    except StoppedError:
        return 1
