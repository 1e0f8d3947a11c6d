"""How much may be asked of the endpoint: calls at once, calls a minute, tokens a minute."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from harness.config.simulator import SimulatorConfig
from harness.simulator.served.requests import Request

CHARACTERS_A_TOKEN = 4
"""Of English, roughly; corrected by what the endpoint says was used."""
MOST_TOKENS_A_CHARACTER = 4
"""A byte each: a false count must not make a run wait for ever."""


def tokens_of(request: Request, max_tokens: int) -> tuple[float, int]:
    """What a call is expected to use, and the most that it can with its answer."""
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
        """Meanwhile one call may be under way, of about so many tokens."""
        await self._requests.take(1)
        await self.tokens.take(tokens)
        async with self._places:
            yield
