"""How trust grows: by being asked and understood, and faster where the user shows more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from harness.config.run import STRATEGIES
from harness.simulator.scripted.dynamics import Disclosure
from harness.simulator.scripted.wants import MAX_TRUST

GROWTH = dict(zip(STRATEGIES, (0.8, 0.6, 0.7, 0.4, 0.4, 0.2, 0.2, 0.6), strict=True))
"""Chance, before expression, that a strategy wins some trust."""
LOSS = 0.7
"""Chance that a hurtful or unintelligible reply loses some."""


@lru_cache(maxsize=256)
def growth_probability(kind: str, shown: Disclosure) -> float:
    return min(1.0, GROWTH[kind] * (0.25 + 0.95 * shown.expression))


def next_trust(
    trust: int, kinds: Sequence[str], offended: bool, shown: Disclosure, u: float
) -> int:
    """Trust, 0 to MAX_TRUST, after a reply with strategies `kinds`."""
    if offended:
        return max(0, trust - 1) if u < LOSS else trust
    chance = max([growth_probability(kind, shown) for kind in kinds], default=0.0)
    return min(MAX_TRUST, trust + 1) if u < chance else trust
