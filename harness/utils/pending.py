"""Results that are computed while the caller does other things.

A `Pending` result is a function that waits for the result and returns it. An `AwaitableResult` can
also tell whether it would have to wait. Any other counts as ready: to wait for others first would
bring it no nearer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

Pending = Callable[[], T]
"""Waits for a result and returns it; called once."""
POLL_EVERY_S = 0.2
"""Seconds between calls of `poll` while waiting for results."""


def nothing() -> None:
    """Do nothing."""


def no_work() -> bool:
    """Do no work; return False."""
    return False


@dataclass(frozen=True, slots=True)
class AwaitableResult(Generic[T]):
    """A pending result that can also tell whether it would have to wait."""

    wait: Callable[[], T]
    futures: tuple[Future[Any], ...]
    """All of these are done once the result is ready."""
    poll: Callable[[], None] = nothing
    """Called from time to time while waiting; may raise an error that ends the run."""
    work: Callable[[], bool] = no_work
    """Does a short piece of the work that needs the caller's thread; False if none is left."""

    def __call__(self) -> T:
        """Wait for the result."""
        return self.wait()

    @property
    def is_ready(self) -> bool:
        """Whether the result is available without waiting."""
        return all(future.done() for future in self.futures)


def ready(result: T) -> Pending[T]:
    """Return a pending result that is ready."""
    return lambda: result


def gather(pending: Sequence[Pending[T]]) -> Pending[list[T]]:
    """Combine pending results into one pending list; awaitable if all of them are."""

    def results() -> list[T]:
        return [result() for result in pending]

    awaitable = [result for result in pending if isinstance(result, AwaitableResult)]
    if len(awaitable) < len(pending):
        return results

    def poll() -> None:
        for result in awaitable:
            result.poll()

    def work() -> bool:
        return any(result.work() for result in awaitable)

    futures = tuple(future for result in awaitable for future in result.futures)
    return AwaitableResult(results, futures, poll, work)


def then(pending: Pending[T], transform: Callable[[T], U]) -> Pending[U]:
    """Return `transform` of a pending result, as a pending result of the same kind."""
    if isinstance(pending, AwaitableResult):
        return AwaitableResult(
            lambda: transform(pending()), pending.futures, pending.poll, pending.work
        )
    return lambda: transform(pending())


def first_ready(pending: Sequence[Pending[Any]]) -> int:
    """Wait until one of `pending` is ready and return its index, the lowest if several are.

    Meanwhile calls their `work` and `poll`. Returns 0 at once if there is only one.
    """
    if len(pending) == 1:
        return 0
    last_poll = time.monotonic()
    while True:
        awaitable: list[AwaitableResult[Any]] = []
        for index, result in enumerate(pending):
            if not isinstance(result, AwaitableResult) or result.is_ready:
                return index
            awaitable.append(result)
        # from before the work, so that no result that gets ready meanwhile is waited for
        unfinished = [
            future for result in awaitable for future in result.futures if not future.done()
        ]
        worked = any(result.work() for result in awaitable)
        if not worked:
            wait(unfinished, timeout=POLL_EVERY_S, return_when=FIRST_COMPLETED)
        if not worked or time.monotonic() - last_poll >= POLL_EVERY_S:
            last_poll = time.monotonic()
            for result in awaitable:
                result.poll()
