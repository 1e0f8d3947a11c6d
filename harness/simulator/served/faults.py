"""Typed faults of a call, and outages of the endpoint, which all calls wait out.

A fault ends a conversation, not the run. A request that has spent its tries on faults of AWAY loses
its conversation, but if the endpoint is down, all conversations would be lost. A probe tells the
two apart: if it is answered, the fault concerns that request alone; otherwise all requests wait for
up to simulator.outage_s.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from queue import SimpleQueue

from harness.config.simulator import SIMULATOR_FAULTS
from harness.errors import EndpointError

NO_RETRY = ("request", "redirect")
"""Faults that a retry of the same request would meet again."""
ONE_RETRY = ("leaked", "oversized")
REFUSED_KEY = 401
"""Status for a key that the endpoint does not accept; every request would meet it."""
FORBIDDEN = 403
"""Status for a key without permission. For the first, harmless request it concerns the key; later,
a gateway may have refused one text.
"""


class EndpointFault(Exception):
    """One failed call; `kind` is one of SIMULATOR_FAULTS."""

    def __init__(
        self,
        kind: str,
        detail: str = "",
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        """`retry_after_s` is the wait that the endpoint asks for, `status` the HTTP status."""
        super().__init__(f"{kind}: {detail}" if detail else kind)
        assert kind in SIMULATOR_FAULTS, kind
        self.kind, self.retry_after_s, self.status = kind, retry_after_s, status


def allowed_faults(kind: str, retries: int) -> int:
    """Return the number of faults of this kind that ends a request, whatever else it met."""
    if kind in NO_RETRY:
        return 1
    return 1 + min(1, retries) if kind in ONE_RETRY else 1 + retries


def fault_of_status(status: int, detail: str, retry_after_s: float | None = None) -> EndpointFault:
    """Return the fault of an HTTP status other than 200."""
    if status == 429:
        return EndpointFault("rate_limit", detail, retry_after_s)
    if status >= 500 or status == 408:
        return EndpointFault("server", f"{status} {detail}".strip(), retry_after_s)
    kind = "malformed" if status < 300 else "redirect" if status < 400 else "request"
    return EndpointFault(kind, f"{status} {detail}".strip(), status=status)


AWAY = ("connection", "timeout", "server")
"""Faults that may concern the whole endpoint and not just one request."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""First and longest wait between two probes; the wait doubles each time."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A report of an outage, made when it begins and again when it is over."""

    fault: str
    """Fault of the first probe."""
    seconds: float | None = None
    """Duration; None at the beginning."""
    answered: bool = False
    """True once the endpoint is back; False at the end if it was given up."""


class Outages:
    """Outages of one endpoint, for all requests of one event loop."""

    def __init__(
        self, url: str, longest_s: float, probe: Callable[[], Awaitable[EndpointFault | None]]
    ) -> None:
        """`probe` makes a call and returns its fault if that is one of AWAY, else None."""
        self._url, self._longest_s, self._probe = url, longest_s, probe
        self.over = 0
        """Number of outages that ended with an answer."""
        self.news: SimpleQueue[Outage] = SimpleQueue()
        self._probing: asyncio.Task[bool] | None = None
        self._away = False
        self._spent_s = 0.0

    async def wait(self) -> None:
        """Wait while an outage lasts. Raises EndpointError if it lasts too long."""
        if self._away and self._probing is not None:
            await asyncio.shield(self._probing)

    async def is_away(self) -> bool:
        """Return whether the endpoint was down, after waiting until it is back.

        Raises EndpointError after simulator.outage_s.
        """
        if self._probing is None:
            self._probing = asyncio.create_task(self._probe_until_back())
            self._probing.add_done_callback(consume_exception)
        return await asyncio.shield(self._probing)

    def answered(self) -> None:
        """Reset the time spent on outages, after a call that succeeded."""
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

    async def _wait_out(self, first: EndpointFault) -> None:
        """Probe until the endpoint is back. Outages without a success in between share the limit,
        because an endpoint may come up for the probe alone.
        """
        began, spent_before_s = time.monotonic(), self._spent_s
        fault: EndpointFault | None = first
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
                self._spent_s = spent_before_s + time.monotonic() - began
        finally:
            seconds = round(time.monotonic() - began, 3)
            self.news.put(Outage(str(first), seconds, answered=fault is None))


class RetryBudget:
    """Counts the tries of one request; the count restarts after an outage."""

    def __init__(self, retries: int, outages: Outages | None) -> None:
        """`outages` is None if outages are not waited out."""
        self.made = 0
        self._retries, self._outages = retries, outages
        self._over_before = outages.over if outages else 0
        self._is_last = False
        self._met: Counter[str] = Counter()

    async def take(self) -> None:
        """Take one more try, after waiting out an outage. Raises EndpointError."""
        if self._outages is not None:
            await self._outages.wait()
        self.made += 1

    async def is_spent(self, fault: EndpointFault) -> bool:
        """Return whether `fault` ends the request. Raises EndpointError.

        After an outage the count restarts. If the probe is answered, the request gets one more
        try, because the endpoint may have just come back.
        """
        self._met[fault.kind] += 1
        allowed = allowed_faults(fault.kind, self._retries)
        if self.made <= self._retries and self._met[fault.kind] < allowed:
            return False
        if self._outages is None or fault.kind not in AWAY:
            return True
        if self._outages.over == self._over_before and not await self._outages.is_away():
            spent, self._is_last = self._is_last, True
            return spent
        self.made, self._over_before, self._is_last = 0, self._outages.over, False
        self._met.clear()
        return False


def consume_exception(task: asyncio.Task[object]) -> None:
    """Retrieve a task's exception, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()
