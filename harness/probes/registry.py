"""The probes by name."""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import ConfigError
from harness.probes import (
    alliance,
    drift,
    grounding,
    novelty,
    reliability,
    understanding,
    width,
)
from harness.probes.quantity import Probe

PROBES: Mapping[str, Probe] = {
    probe.name: probe
    for probe in (
        alliance.PROBE,
        drift.PROBE,
        grounding.PROBE,
        novelty.PROBE,
        reliability.PROBE,
        understanding.PROBE,
        width.PROBE,
    )
}


def get(name: str) -> Probe:
    """Return the probe called `name`. Raises ConfigError if there is none."""
    if name not in PROBES:
        raise ConfigError(f"NAME must be one of {', '.join(PROBES)}, got {name!r}")
    return PROBES[name]
