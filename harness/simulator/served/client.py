"""The client of one endpoint: answers requests from the journal or the endpoint, with retries.

One process makes all requests of a run, with one client per endpoint. Levels, training, evaluation
and the run's other ranks (relay.py) share its limits, journal and connections. Calls run in a
thread of their own, so that the policy can generate meanwhile. Use the client's other methods only
while no call is in flight.

Identical requests are sent once, even if made at the same time: the journal has one answer per
request. A model that samples would answer each differently, and a resume could not repeat that.
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
from harness.errors import ConfigError, EndpointError
from harness.simulator.draws import uniforms
from harness.simulator.served.completions import Request
from harness.simulator.served.endpoint import Endpoint
from harness.simulator.served.faults import (
    AWAY,
    FORBIDDEN,
    REFUSED_KEY,
    EndpointFault,
    Outage,
    Outages,
    RetryBudget,
    consume_exception,
)
from harness.simulator.served.journal import Entry, Journal
from harness.simulator.served.model_identity import ModelIdentity
from harness.simulator.served.usage import Limits, Usage, tokens_of
from harness.utils.pending import POLL_EVERY_S, AwaitableResult

T = TypeVar("T")
R = TypeVar("R")
LONGEST_WAIT_S = 60.0
"""Longest wait between two tries, whatever Retry-After asks for."""
_CLIENTS: dict[SimulatorConfig, EndpointClient] = {}


def client_for(config: SimulatorConfig) -> EndpointClient:
    """Return this process's client for the endpoint of `config`."""
    if config not in _CLIENTS:
        _CLIENTS[config] = EndpointClient(config)
    return _CLIENTS[config]


class EndpointClient:
    """The client of one endpoint. Get it from `client_for`; it connects on the first request."""

    def __init__(self, config: SimulatorConfig) -> None:
        self.config, self.journal = config, Journal()
        self.model_identity = ModelIdentity(config.base_url)
        self._usage = Usage()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        self._endpoint: Endpoint | None = None
        self._limits: Limits | None = None
        self._under_way: dict[str, asyncio.Task[Entry]] = {}
        self._outages: Outages | None = None
        self._on_outage: Callable[[Outage], None] = lambda outage: None

    def wait_out_outages(self, probe: Request, on_outage: Callable[[Outage], None]) -> None:
        """Wait from now on for an endpoint that is down, for at most simulator.outage_s.

        `probe` is the request that tests whether it is back. `on_outage` is called with each
        outage, in the thread that waits for answers.
        """

        async def probe_once() -> EndpointFault | None:
            try:
                await self._call(probe, _seed("probe", 1))
            except EndpointFault as fault:
                return fault if fault.kind in AWAY else None
            return None

        if self.config.outage_s:
            self._outages = Outages(self.config.base_url, self.config.outage_s, probe_once)
            self._on_outage = on_outage

    def start(
        self, conversations: Sequence[Coroutine[Any, Any, T]], join: Callable[[list[T]], list[R]]
    ) -> AwaitableResult[list[R]]:
        """Start all conversations at once, from any thread; calling the result waits for them.

        The call returns `join` of their results. By then their answers are on disk.
        """

        async def gather_all() -> list[R]:
            try:
                return join(list(await asyncio.gather(*conversations)))
            finally:
                self.journal.flush()
                self.model_identity.flush()

        future = asyncio.run_coroutine_threadsafe(gather_all(), self._running_loop())
        return AwaitableResult(lambda: self._wait_for(future), (future,), self.tell_news)

    def run(self, conversations: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Run all conversations at once and return their results."""
        return self.start(conversations, list)()

    async def ask(self, request: Request, read: Callable[[str], T]) -> T:
        """Return `read` of the answer to `request`; `read` raises EndpointFault for a bad answer.

        Raises EndpointFault once the tries are spent. Identical requests share the tries of the
        first.
        """
        digest = request.digest(self.config.model, self.config.temperature)
        entry = self.journal.find(digest)
        if entry is not None or digest in self._under_way:
            self._usage.remembered += 1
        else:
            task = asyncio.create_task(self._settle(request, read, digest))
            task.add_done_callback(consume_exception)
            self._under_way[digest] = task
        if entry is None:  # shielded, because others may wait after one caller is cancelled
            entry = await asyncio.shield(self._under_way[digest])
        if "fault" in entry:
            raise EndpointFault(entry["fault"], "in all its tries")
        return read(entry["content"])

    async def _settle(self, request: Request, read: Callable[[str], object], digest: str) -> Entry:
        """Ask the endpoint, add the outcome to the journal and return its entry."""
        try:
            content, _ = await self._try(request, read, digest)
            return self.journal.add(digest, request, content, None)
        except EndpointFault as fault:
            self._usage.given_up[fault.kind] += 1
            return self.journal.add(digest, request, None, fault.kind)
        finally:
            del self._under_way[digest]

    def check(self, request: Request, read: Callable[[str], T]) -> T:
        """Return the answer, bypassing the journal.

        Raises EndpointError if there is none, ConfigError if the endpoint refuses the key.
        """

        async def once() -> T:
            return (await self._try(request, read, "check"))[1]

        try:
            return self.run([once()])[0]
        except EndpointFault as fault:
            if fault.status == FORBIDDEN:
                raise self._refused_key(fault) from fault
            raise EndpointError(
                f"simulator.base_url: {self.config.base_url} must answer as "
                f"{self.config.model!r}, got {fault}"
            ) from fault

    def keep_in(self, folder: Path) -> None:
        """Keep the answers and the model's identity in `folder`.

        Raises DataError, StorageError.
        """
        self.journal.keep_in(folder)
        self.model_identity.keep_in(folder)

    def at_step(self, step: int, binding: bool) -> None:
        """Begin a step. `binding`: its row is on disk. Raises DataError, StorageError."""
        self.journal.at_step(step, binding)
        self.model_identity.at_step()

    def take_usage(self) -> Usage:
        """Return the counts since the last call."""
        usage, self._usage = self._usage, Usage()
        return usage

    def close(self) -> None:
        """Cancel calls in flight and close the connections. `client_for` then makes a new one."""
        if _CLIENTS.get(self.config) is self:
            del _CLIENTS[self.config]
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._beginning:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            return self._loop

    def _wait_for(self, future: concurrent.futures.Future[T]) -> T:
        """Return the result of `future`, reporting outages meanwhile."""
        if self._outages is not None:
            while not future.done() or not self._outages.news.empty():
                concurrent.futures.wait([future], timeout=POLL_EVERY_S)
                self.tell_news()
        return future.result()

    def tell_news(self) -> None:
        """Report outages that began or ended since the last call."""
        while self._outages is not None and not self._outages.news.empty():
            self._on_outage(self._outages.news.get())

    async def _shut_down(self) -> None:
        own_task = asyncio.current_task()
        other_tasks = [task for task in asyncio.all_tasks() if task is not own_task]
        for task in other_tasks:
            task.cancel()
        await asyncio.gather(*other_tasks, return_exceptions=True)
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _try(self, request: Request, read: Callable[[str], T], digest: str) -> tuple[str, T]:
        """Return content and parsed value of the first good answer."""
        budget = RetryBudget(self.config.retries, self._outages)
        while True:
            await budget.take()
            try:
                content = await self._call(request, _seed(digest, budget.made))
                if self._outages is not None:
                    self._outages.answered()
                return content, read(content)
            except EndpointFault as fault:
                if fault.status == REFUSED_KEY:
                    raise self._refused_key(fault) from fault
                if await budget.is_spent(fault):
                    raise
                self._usage.retries[fault.kind] += 1
                await asyncio.sleep(self._wait_s(budget.made, fault.retry_after_s))

    async def _call(self, request: Request, seed: int) -> str:
        """Return the content of one call, made within the limits."""
        if self._endpoint is None or self._limits is None:
            self._endpoint, self._limits = Endpoint(self.config), Limits(self.config)
        expected, limit = tokens_of(request, self.config.max_tokens)
        async with self._limits.call(expected):
            began = time.monotonic()
            self._usage.calls += 1
            completion = await self._endpoint.complete(request, seed)
            self._usage.latencies_s.append(time.monotonic() - began)
        self.model_identity.observe(completion.model, completion.build)
        if completion.tokens is not None:
            self._usage.tokens += completion.tokens
            self._limits.tokens.correct(min(completion.tokens, limit) - expected)
        return completion.content

    def _refused_key(self, fault: EndpointFault) -> ConfigError:
        """Return the error that ends the run, because every other try would fail too."""
        variable, url = self.config.api_key_env, self.config.base_url
        rule = (
            f"${variable} must hold a key that {url} accepts"
            if variable
            else (f"must name the variable of a key, since {url} asks for one")
        )
        return ConfigError(f"simulator.api_key_env: {rule}, got {fault}")

    def _wait_s(self, tries: int, retry_after_s: float | None) -> float:
        """Return the wait before the next try.

        It doubles each time, with jitter so that calls that failed together do not retry together.
        """
        wait_s = self.config.backoff_s * 2.0 ** (tries - 1) * random.uniform(0.5, 1.5)
        return min(LONGEST_WAIT_S, max(wait_s, retry_after_s or 0.0))


def _seed(digest: str, tries: int) -> int:
    """Return the seed of a try, for endpoints that use one. Each try samples a new answer."""
    return int(uniforms("served", digest, tries)[0] * 2**31)
