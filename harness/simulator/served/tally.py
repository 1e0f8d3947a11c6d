"""What the endpoint cost, for events.jsonl: it varies between two runs of one config."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts since they were last taken."""

    calls: int = 0
    """Tries, the first and further ones."""
    remembered: int = 0
    """Requests without a call of their own: the journal had the answer, or one like it was under
    way.
    """
    tokens: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    """By the fault that made it necessary."""
    given_up: Counter[str] = field(default_factory=Counter)
    latencies_s: list[float] = field(default_factory=list)
    """Of the calls that succeeded."""

    def to_json(self) -> dict[str, Any]:
        """As one event's values."""
        return {
            "calls": self.calls,
            "remembered": self.remembered,
            "tokens": self.tokens,
            "retries": dict(sorted(self.retries.items())),
            "given_up": dict(sorted(self.given_up.items())),
            "latency_s": spread(self.latencies_s),
        }


def spread(latencies_s: list[float]) -> dict[str, float] | None:
    """Median, 95th percentile and maximum, by nearest rank; None of nothing."""
    if not latencies_s:
        return None
    ordered = sorted(latencies_s)
    last = len(ordered) - 1
    return {
        "median": round(ordered[round(0.5 * last)], 4),
        "p95": round(ordered[round(0.95 * last)], 4),
        "max": round(ordered[-1], 4),
    }
