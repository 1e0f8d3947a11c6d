"""How many runs a vLLM server can serve at once: one that writes weights, or several adapters."""

from __future__ import annotations

from collections.abc import Iterable

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.train.engines import vllm_address


def shared(config: RunConfig) -> dict[str, int]:
    """Return the number of adapter places at each of the run's servers; empty without adapters."""
    if engine_choice.engine_of(config) != engine_choice.ADAPTERS:
        return {}
    return {url: _places(url) for url in engine_choice.addresses(config)}


def in_all(configs: Iterable[RunConfig]) -> int | None:
    """Return how many of these runs the servers can serve at once; None if a run names none."""
    places = dict[str, int]()
    for config in configs:
        urls = engine_choice.addresses(config)
        if not urls:
            return None
        if set(urls) - places.keys():
            places |= shared(config) or dict.fromkeys(urls, 1)
    return sum(places.values())


def _places(url: str) -> int:
    """Return a server's places, at least 1: a run reports a server without adapters, or a dead
    one, itself.
    """
    try:
        return max(1, vllm_address.places(url))
    except StoppedError:
        return 1
