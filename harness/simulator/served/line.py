"""The line to one endpoint: requests in, answers out, from the journal or asked, with retries.

One process trains one run, so it has one line to each endpoint that its config names: levels,
training and evaluation share its limits, its journal and its connections. Calls are made in a
thread of their own, so that the policy can speak meanwhile; all else of a line is the caller's,
while no call is under way.

A request is asked once, whoever else asks the same meanwhile: the journal has one answer of it,
and a model that samples would give each its own, which a resumed run could not repeat.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.config.simulator import SimulatorConfig
from harness.errors import EndpointError
from harness.simulator.draws import uniforms
from harness.simulator.served.answerer import Answerer
from harness.simulator.served.endpoint import Endpoint
from harness.simulator.served.faults import Fault
from harness.simulator.served.journal import Entry, Journal
from harness.simulator.served.limits import Limits, tokens_of
from harness.simulator.served.outage import AWAY, Outage, Outages, Tries, heard
from harness.simulator.served.requests import Request
from harness.simulator.served.tally import Tally

T = TypeVar("T")
LONGEST_WAIT_S = 60.0
"""Between two tries, whatever Retry-After asks for."""
NEWS_EVERY_S = 0.2
"""How soon an outage is told while answers are waited for."""
_LINES: dict[SimulatorConfig, Line] = {}


def line_to(config: SimulatorConfig) -> Line:
    """This process's line to the endpoint of `config`."""
    if config not in _LINES:
        _LINES[config] = Line(config)
    return _LINES[config]


class Line:
    """Made by `line_to`; asks nothing until it has to."""

    def __init__(self, config: SimulatorConfig) -> None:
        self.config, self.journal = config, Journal()
        self.answerer = Answerer(config.base_url)
        self._tally = Tally()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._endpoint: Endpoint | None = None
        self._limits: Limits | None = None
        self._under_way: dict[str, asyncio.Task[Entry]] = {}
        self._outages: Outages | None = None
        self._told: Callable[[Outage], None] = lambda outage: None

    def endure(self, probe: Request, told: Callable[[Outage], None]) -> None:
        """From here on wait for an endpoint that is away, for simulator.outage_s at most.

        `probe` is what it is asked meanwhile. `told` hears of each outage, in the thread that
        waits for answers.
        """

        async def away() -> Fault | None:
            try:
                await self._call(probe, _seed("probe", 1))
            except Fault as fault:
                return fault if fault.kind in AWAY else None
            return None

        if self.config.outage_s:
            self._outages = Outages(self.config.base_url, self.config.outage_s, away)
            self._told = told

    def start(self, conversations: Sequence[Coroutine[Any, Any, T]]) -> Callable[[], list[T]]:
        """Begin all at once; what comes back waits for them. Their answers are durable then."""

        async def together() -> list[T]:
            try:
                return list(await asyncio.gather(*conversations))
            finally:
                self.journal.flush()
                self.answerer.flush()

        future = asyncio.run_coroutine_threadsafe(together(), self._running())
        return lambda: self._waited_for(future)

    def run(self, conversations: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Begin all at once and wait for them."""
        return self.start(conversations)()

    async def ask(self, request: Request, read: Callable[[str], T]) -> T:
        """The answer to `request` as `read` has it; `read` raises Fault for one that is no good.

        Raises Fault once the tries are spent, which are those of whoever asked first.
        """
        digest = request.digest(self.config.model, self.config.temperature)
        entry = self.journal.find(digest)
        if entry is not None or digest in self._under_way:
            self._tally.remembered += 1
        else:
            asked = asyncio.create_task(self._settled(request, read, digest))
            asked.add_done_callback(heard)
            self._under_way[digest] = asked
        if entry is None:  # whoever asked may be cancelled, and others still wait
            entry = await asyncio.shield(self._under_way[digest])
        if "fault" in entry:
            raise Fault(entry["fault"], "in all its tries")
        return read(entry["content"])

    async def _settled(self, request: Request, read: Callable[[str], object], digest: str) -> Entry:
        """What is in the journal from now on."""
        try:
            content, _ = await self._try(request, read, digest)
            return self.journal.add(digest, request, content, None)
        except Fault as fault:
            self._tally.given_up[fault.kind] += 1
            return self.journal.add(digest, request, None, fault.kind)
        finally:
            del self._under_way[digest]

    def check(self, request: Request, read: Callable[[str], T]) -> T:
        """The answer, past the journal. Raises EndpointError if there is none."""

        async def once() -> T:
            return (await self._try(request, read, "check"))[1]

        try:
            return self.run([once()])[0]
        except Fault as fault:
            raise EndpointError(
                f"simulator.base_url: {self.config.base_url} must answer as "
                f"{self.config.model!r}, got {fault}"
            ) from fault

    def keep_in(self, folder: Path) -> None:
        """Keep there what was answered, and by whom. Raises DataError, StorageError."""
        self.journal.keep_in(folder)
        self.answerer.keep_in(folder)

    def at_step(self, step: int, binding: bool) -> None:
        """From here on it is step `step`; `binding`: its row is on disk. Raises DataError,
        StorageError.
        """
        self.journal.at_step(step, binding)
        self.answerer.at_step()

    def take_tally(self) -> Tally:
        """What was counted since the last time."""
        taken, self._tally = self._tally, Tally()
        return taken

    def close(self) -> None:
        """Drop what is under way and close the connections; a later `line_to` makes a new line."""
        if _LINES.get(self.config) is self:
            del _LINES[self.config]
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
        return self._loop

    def _waited_for(self, future: concurrent.futures.Future[T]) -> T:
        """What comes of `future`, with the news meanwhile."""
        if self._outages is not None:
            while not future.done() or not self._outages.news.empty():
                concurrent.futures.wait([future], timeout=NEWS_EVERY_S)
                while not self._outages.news.empty():
                    self._told(self._outages.news.get())
        return future.result()

    async def _end(self) -> None:
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _try(self, request: Request, read: Callable[[str], T], digest: str) -> tuple[str, T]:
        """Content and value of the first good answer."""
        tries = Tries(self.config.retries, self._outages)
        while True:
            await tries.take()
            try:
                content = await self._call(request, _seed(digest, tries.made))
                if self._outages is not None:
                    self._outages.answered()
                return content, read(content)
            except Fault as fault:
                if await tries.are_spent(fault):
                    raise
                self._tally.retries[fault.kind] += 1
                await asyncio.sleep(self._wait_s(tries.made, fault.retry_after_s))

    async def _call(self, request: Request, seed: int) -> str:
        """One try, within the limits."""
        if self._endpoint is None or self._limits is None:
            self._endpoint, self._limits = Endpoint(self.config), Limits(self.config)
        expected, most = tokens_of(request, self.config.max_tokens)
        async with self._limits.call(expected):
            began = time.monotonic()
            self._tally.calls += 1
            done = await self._endpoint.complete(request, seed)
            self._tally.latencies_s.append(time.monotonic() - began)
        self.answerer.heard(done.model, done.build)
        if done.tokens is not None:
            self._tally.tokens += done.tokens
            self._limits.tokens.correct(min(done.tokens, most) - expected)
        return done.content

    def _wait_s(self, made: int, retry_after_s: float | None) -> float:
        """Doubled at each try, spread so that calls that failed together do not return together."""
        wait_s = self.config.backoff_s * 2.0 ** (made - 1) * random.uniform(0.5, 1.5)
        return min(LONGEST_WAIT_S, max(wait_s, retry_after_s or 0.0))


def _seed(digest: str, made: int) -> int:
    """For endpoints that take one: another try draws another answer."""
    return int(uniforms("served", digest, made)[0] * 2**31)
