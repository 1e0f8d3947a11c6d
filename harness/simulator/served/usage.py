"""Rate limits of the endpoint, and usage counts for events.jsonl.

The limits are concurrent calls, calls per minute and tokens per minute. The counts of two runs of
one config differ.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from harness.config.simulator import SimulatorConfig
from harness.simulator.served.completions import Request

CHARACTERS_A_TOKEN = 4
"""Rough estimate for English, corrected by the endpoint's count."""
MOST_TOKENS_A_CHARACTER = 4
"""Upper bound, one token per byte, so that a false count cannot make a run wait forever."""


def tokens_of(request: Request, max_tokens: int) -> tuple[float, int]:
    """Return the expected tokens of a call, and the most that it can use with its answer."""
    characters = sum(len(message["content"]) for message in request.messages())
    return characters / CHARACTERS_A_TOKEN, characters * MOST_TOKENS_A_CHARACTER + max_tokens


class Allowance:
    """An amount per minute, refilled steadily. One call may overdraw it; it cannot be saved up."""

    def __init__(self, per_minute: float | None) -> None:
        self._a_second = None if per_minute is None else per_minute / 60
        self._left, self._at_s = 0.0, 0.0

    async def take(self, amount: float) -> None:
        """Wait until the balance is not negative, then subtract `amount`."""
        if self._a_second is None:
            return
        while self._refill(self._a_second) < 0:
            await asyncio.sleep(-self._left / self._a_second)
        self._left -= amount

    def correct(self, amount: float) -> None:
        """Subtract `amount`, which may be negative, to correct an earlier `take`."""
        if self._a_second is not None:
            self._left -= amount

    def _refill(self, a_second: float) -> float:
        now = asyncio.get_running_loop().time()
        self._left = min(0.0, self._left + (now - self._at_s) * a_second)
        if self._left > -1e-9:  # a sleep may end a rounding error early
            self._left = 0.0
        self._at_s = now
        return self._left


class Limits:
    """The rate limits of one endpoint."""

    def __init__(self, config: SimulatorConfig) -> None:
        self._places = asyncio.Semaphore(config.concurrency)
        self._requests = Allowance(config.requests_per_minute)
        self.tokens = Allowance(config.tokens_per_minute)

    @contextlib.asynccontextmanager
    async def call(self, tokens: float) -> AsyncIterator[None]:
        """Admit one call of about `tokens` tokens while the context is open.

        Its place comes first: calls that had their allowance and then waited for places of slow
        calls would later go out together, above the limits.
        """
        async with self._places:
            await self._requests.take(1)
            await self.tokens.take(tokens)
            yield


@dataclass(slots=True)
class Usage:
    """Usage counts of a client since they were last taken."""

    calls: int = 0
    """Calls, including retries."""
    remembered: int = 0
    """Requests without a call: the journal had the answer, or the same request was in flight."""
    tokens: int = 0
    """Tokens, as the endpoint counts them."""
    retries: Counter[str] = field(default_factory=Counter)
    """Retries by the fault that caused them."""
    given_up: Counter[str] = field(default_factory=Counter)
    """Requests whose tries were spent, by the last fault."""
    latencies_s: list[float] = field(default_factory=list)
    """Duration of each successful call in seconds."""

    def to_json(self) -> dict[str, Any]:
        """Return the values of one event."""
        return {
            "calls": self.calls,
            "remembered": self.remembered,
            "tokens": self.tokens,
            "retries": dict(sorted(self.retries.items())),
            "given_up": dict(sorted(self.given_up.items())),
            "latency_s": spread(self.latencies_s),
        }

    def words(self) -> str:
        """Return a summary of calls, tokens and faults for printing."""
        faults = {"asked again": self.retries, "given up": self.given_up}
        counts = [
            f"{name}: {', '.join(f'{kind} {count:,}' for kind, count in sorted(by_kind.items()))}"
            for name, by_kind in faults.items()
            if by_kind
        ]
        return "; ".join([f"{self.calls:,} calls, {self.tokens:,} tokens", *counts])


def spread(latencies_s: list[float]) -> dict[str, float] | None:
    """Return median, 95th percentile and maximum, by nearest rank; None without any."""
    if not latencies_s:
        return None
    ordered = sorted(latencies_s)
    last = len(ordered) - 1
    return {
        "median": round(ordered[round(0.5 * last)], 4),
        "p95": round(ordered[round(0.95 * last)], 4),
        "max": round(ordered[-1], 4),
    }
