"""Faults of a call, typed, and outages of a whole endpoint, which all calls wait out.

A fault ends a conversation, never the run. A request that has spent its tries on faults of AWAY
would lose its conversation, and if the endpoint is down so would all others. A probe tells the two
apart: where it is answered, the fault was of that request alone. Else nothing is given up until
simulator.outage_s are over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from queue import SimpleQueue

from harness.config.simulator import SIMULATOR_FAULTS
from harness.errors import EndpointError

NO_RETRY = ("request", "redirect")
"""Faults that the same request would meet again."""
ONE_RETRY = ("leaked", "oversized")
REFUSED_KEY = 401
"""Status of an endpoint that does not accept the key; every other request would meet it too."""
FORBIDDEN = 403
"""Status for a key that may not do this; at a first, harmless request it means the key, later a
gateway may refuse one text alone.
"""


class Fault(Exception):
    """One failed call; `kind` is one of SIMULATOR_FAULTS."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        """`retry_after_s`: how long the endpoint asks to be left alone; `status`: of the answer."""
        super().__init__(f"{kind}: {detail}" if detail else kind)
        assert kind in SIMULATOR_FAULTS, kind
        self.kind, self.retry_after_s, self.status = kind, retry_after_s, status


def allowed_tries(kind: str, retries: int) -> int:
    """Return how many tries a call may take in all once it has met a fault of this kind."""
    if kind in NO_RETRY:
        return 1
    return 1 + min(1, retries) if kind in ONE_RETRY else 1 + retries


def fault_of_status(status: int, detail: str, retry_after_s: float | None = None) -> Fault:
    """Return the fault of an HTTP status other than 200."""
    if status == 429:
        return Fault("rate_limit", detail, retry_after_s)
    if status >= 500 or status == 408:
        return Fault("server", f"{status} {detail}".strip(), retry_after_s)
    kind = "malformed" if status < 300 else "redirect" if status < 400 else "request"
    return Fault(kind, f"{status} {detail}".strip(), status=status)


AWAY = ("connection", "timeout", "server")
"""Faults that a whole endpoint can have, and not one request alone."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Between two probes; doubled each time."""


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage as it is reported, once when it begins and once when it is over."""

    fault: str
    """The fault that the first probe met."""
    seconds: float | None = None
    """None as it begins."""
    answered: bool = False
    """Whether the endpoint is back; else it was given up."""


class Outages:
    """Outages of one endpoint, for all requests of one event loop."""

    def __init__(
        self, url: str, longest_s: float, probe: Callable[[], Awaitable[Fault | None]]
    ) -> None:
        """`probe`: the fault of AWAY that one more call meets, or None."""
        self._url, self._longest_s, self._probe = url, longest_s, probe
        self.over = 0
        """Outages that ended with an answer."""
        self.news: SimpleQueue[Outage] = SimpleQueue()
        self._probing: asyncio.Task[bool] | None = None
        self._away = False
        self._spent_s = 0.0

    async def wait(self) -> None:
        """Wait while an outage lasts. Raises EndpointError for one that lasts too long."""
        if self._away and self._probing is not None:
            await asyncio.shield(self._probing)

    async def is_away(self) -> bool:
        """Return whether the endpoint is away; if it is, once it is back.

        Raises EndpointError after simulator.outage_s.
        """
        if self._probing is None:
            self._probing = asyncio.create_task(self._probe_until_back())
            self._probing.add_done_callback(consume_exception)
        return await asyncio.shield(self._probing)

    def answered(self) -> None:
        """Note that a call went well: the next outage may last as long as any."""
        self._spent_s = 0.0

    async def _probe_until_back(self) -> bool:
        try:
            fault = await self._probe()
            if fault is not None:
                self._away = True
                await self._wait_out(fault)
                self.over += 1
            return fault is not None
        finally:
            self._probing, self._away = None, False

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


class RetryBudget:
    """The tries of one request, counted anew after an outage."""

    def __init__(self, retries: int, outages: Outages | None) -> None:
        """`outages`: None where none is waited for."""
        self.made = 0
        self._retries, self._outages = retries, outages
        self._over_before = outages.over if outages else 0
        self._is_last = False

    async def take(self) -> None:
        """Take one more try, once the endpoint is there. Raises EndpointError."""
        if self._outages is not None:
            await self._outages.wait()
        self.made += 1

    async def is_spent(self, fault: Fault) -> bool:
        """Return whether `fault` is the end of the request. Raises EndpointError.

        After an outage they are counted anew. An endpoint that answers a probe gets one more: it
        may have come back a moment ago.
        """
        if self.made < allowed_tries(fault.kind, self._retries):
            return False
        if self._outages is None or fault.kind not in AWAY:
            return True
        if self._outages.over == self._over_before and not await self._outages.is_away():
            spent, self._is_last = self._is_last, True
            return spent
        self.made, self._over_before, self._is_last = 0, self._outages.over, False
        return False


def consume_exception(task: asyncio.Task[object]) -> None:
    """Retrieve how a task ended, which is no error where nobody waits for it any more."""
    if not task.cancelled():
        task.exception()
