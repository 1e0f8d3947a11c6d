"""Rate limits of the endpoint, and counts of what was asked of it, for events.jsonl.

Limits: calls at once, calls a minute, tokens a minute. Counts vary between two runs of one config.
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
"""For English, roughly; corrected by what the endpoint says was used."""
MOST_TOKENS_A_CHARACTER = 4
"""A byte each: a false count must not make a run wait for ever."""


def tokens_of(request: Request, max_tokens: int) -> tuple[float, int]:
    """Return the tokens a call is expected to use, and the most that it can with its answer."""
    characters = sum(len(message["content"]) for message in request.messages())
    return characters / CHARACTERS_A_TOKEN, characters * MOST_TOKENS_A_CHARACTER + max_tokens


class Allowance:
    """An amount a minute, refilled steadily. It may be overdrawn by one call, never saved up."""

    def __init__(self, per_minute: float | None) -> None:
        self._a_second = None if per_minute is None else per_minute / 60
        self._left, self._at_s = 0.0, 0.0

    async def take(self, amount: float) -> None:
        """Wait until nothing is owed, then owe `amount`."""
        if self._a_second is None:
            return
        while self._refilled(self._a_second) < 0:
            await asyncio.sleep(-self._left / self._a_second)
        self._left -= amount

    def correct(self, more: float) -> None:
        """Owe `more` than was taken, or less where it is negative."""
        if self._a_second is not None:
            self._left -= more

    def _refilled(self, a_second: float) -> float:
        now = asyncio.get_running_loop().time()
        self._left = min(0.0, self._left + (now - self._at_s) * a_second)
        if self._left > -1e-9:  # a sleep may end a rounding error early
            self._left = 0.0
        self._at_s = now
        return self._left


class Limits:
    """The three limits of one endpoint."""

    def __init__(self, config: SimulatorConfig) -> None:
        self._places = asyncio.Semaphore(config.concurrency)
        self._requests = Allowance(config.requests_per_minute)
        self.tokens = Allowance(config.tokens_per_minute)

    @contextlib.asynccontextmanager
    async def call(self, tokens: float) -> AsyncIterator[None]:
        """Admit one call of about so many tokens while the context is open."""
        await self._requests.take(1)
        await self.tokens.take(tokens)
        async with self._places:
            yield


@dataclass(slots=True)
class Usage:
    """Counts since they were last taken."""

    calls: int = 0
    """Tries, the first and further ones."""
    remembered: int = 0
    """Requests without a call of their own: the journal had the answer, or one like it was under
    way.
    """
    tokens: int = 0
    """As the endpoint counts them."""
    retries: Counter[str] = field(default_factory=Counter)
    """By the fault that made it necessary."""
    given_up: Counter[str] = field(default_factory=Counter)
    """Requests whose tries were spent, by the last fault."""
    latencies_s: list[float] = field(default_factory=list)
    """Seconds of each call that succeeded."""

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
        """Return what was asked and which faults were met, to be printed."""
        faults = {"asked again": self.retries, "given up": self.given_up}
        counts = [
            f"{what}: {', '.join(f'{kind} {count:,}' for kind, count in sorted(by_kind.items()))}"
            for what, by_kind in faults.items()
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
