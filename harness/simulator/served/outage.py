"""An endpoint that is away for a while: all calls wait, and a probe tells when it is back.

A request that has spent its tries on faults of AWAY would lose its conversation, and if the
endpoint is down so would all others. A probe tells the two apart: where it is answered, the fault
was of that request alone. Else nothing is given up until simulator.outage_s are over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from queue import SimpleQueue

from harness.errors import EndpointError
from harness.simulator.served.faults import Fault, tries

AWAY = ("connection", "timeout", "server")
"""Faults that a whole endpoint can have, and not one request alone."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Between two probes; doubled each time."""


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage as it is told, once when it begins and once when it is over."""

    fault: str
    """What the first probe met."""
    seconds: float | None = None
    """None as it begins."""
    answered: bool = False
    """How it was over: the endpoint is back, or was given up."""


class Outages:
    """Whether the endpoint is there, for all requests of one event loop."""

    def __init__(
        self, url: str, longest_s: float, probe: Callable[[], Awaitable[Fault | None]]
    ) -> None:
        """`probe`: the fault of AWAY that one more call meets, or None."""
        self._url, self._longest_s, self._probe = url, longest_s, probe
        self.over = 0
        """Outages that ended with an answer."""
        self.news: SimpleQueue[Outage] = SimpleQueue()
        self._looking: asyncio.Task[bool] | None = None
        self._away = False
        self._spent_s = 0.0

    async def passed(self) -> None:
        """Wait while an outage lasts. Raises EndpointError for one that lasts too long."""
        if self._away and self._looking is not None:
            await asyncio.shield(self._looking)

    async def met(self) -> bool:
        """Whether the endpoint is away; if it is, the answer comes once it is back.

        Raises EndpointError after simulator.outage_s.
        """
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(heard)
        return await asyncio.shield(self._looking)

    def answered(self) -> None:
        """A call went well: the next outage may last as long as any."""
        self._spent_s = 0.0

    async def _look(self) -> bool:
        try:
            fault = await self._probe()
            if fault is not None:
                self._away = True
                await self._wait_out(fault)
                self.over += 1
            return fault is not None
        finally:
            self._looking, self._away = None, False

    async def _wait_out(self, first: Fault) -> None:
        """Outages that no answer comes between are one: it may come up for the probe alone."""
        began, spent_s = time.monotonic(), self._spent_s
        fault: Fault | None = first
        self.news.put(Outage(str(first)))
        try:
            wait_s = FIRST_WAIT_S
            while fault is not None:
                left_s = self._longest_s - self._spent_s
                if left_s <= 0:
                    raise EndpointError(
                        f"simulator.base_url: {self._url} must answer within "
                        f"{self._longest_s:g} s (simulator.outage_s), got {fault}"
                    )
                await asyncio.sleep(min(wait_s, left_s))
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                fault = await self._probe()
                self._spent_s = spent_s + time.monotonic() - began
        finally:
            seconds = round(time.monotonic() - began, 3)
            self.news.put(Outage(str(first), seconds, answered=fault is None))


class Tries:
    """Those that one request has taken."""

    def __init__(self, retries: int, outages: Outages | None) -> None:
        """`outages`: None where none is waited for."""
        self.made = 0
        self._retries, self._outages = retries, outages
        self._met = outages.over if outages else 0
        self._is_last = False

    async def take(self) -> None:
        """One more, once the endpoint is there. Raises EndpointError."""
        if self._outages is not None:
            await self._outages.passed()
        self.made += 1

    async def are_spent(self, fault: Fault) -> bool:
        """Whether `fault` is the end of the request. Raises EndpointError.

        After an outage they are counted anew. An endpoint that answers a probe gets one more: it
        may have come back a moment ago.
        """
        if self.made < tries(fault.kind, self._retries):
            return False
        if self._outages is None or fault.kind not in AWAY:
            return True
        if self._outages.over == self._met and not await self._outages.met():
            spent, self._is_last = self._is_last, True
            return spent
        self.made, self._met, self._is_last = 0, self._outages.over, False
        return False


def heard(task: asyncio.Task[object]) -> None:
    """Take note of how a task ended, which is no error where nobody waits for it any more."""
    if not task.cancelled():
        task.exception()
