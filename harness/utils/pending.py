"""Results that take time, in which the caller may do other things.

A `Pending` result is a function that waits for it. What is not `Awaited` has been there when it was
returned; an `Awaited` result also says whether it would have to wait.
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
"""Seconds between looks for news while results are waited for."""


def nothing() -> None:
    """Do nothing."""


def no_work() -> bool:
    """Leave all work to others."""
    return False


@dataclass(frozen=True, slots=True)
class Awaited(Generic[T]):
    """A pending result that also says whether it would have to wait."""

    wait: Callable[[], T]
    futures: tuple[Future[Any], ...]
    """All done once the result is there."""
    poll: Callable[[], None] = nothing
    """Called now and then while others wait for it; raises what ends the run."""
    work: Callable[[], bool] = no_work
    """Does a short piece of what results wait for, where that is the caller's own thread to do;
    False where nothing is left of it.
    """

    def __call__(self) -> T:
        """Wait for the result."""
        return self.wait()

    @property
    def is_there(self) -> bool:
        """Whether the result can be had at once."""
        return all(future.done() for future in self.futures)


def ready(result: T) -> Pending[T]:
    """A result that is there already."""
    return lambda: result


def gathered(pending: Sequence[Pending[T]]) -> Pending[list[T]]:
    """All of the results, pending until the last is there; Awaited where each is."""

    def results() -> list[T]:
        return [one() for one in pending]

    known = [one for one in pending if isinstance(one, Awaited)]
    if len(known) < len(pending):
        return results

    def poll() -> None:
        for one in known:
            one.poll()

    def work() -> bool:
        return any(one.work() for one in known)

    futures = tuple(future for one in known for future in one.futures)
    return Awaited(results, futures, poll, work)


def then(pending: Pending[T], go_on: Callable[[T], U]) -> Pending[U]:
    """What `go_on` makes of a result, pending as that is."""
    if isinstance(pending, Awaited):
        return Awaited(lambda: go_on(pending()), pending.futures, pending.poll, pending.work)
    return lambda: go_on(pending())


def first_ready(pending: Sequence[Pending[Any]]) -> int:
    """Wait until one of `pending` is there: its number, the least where several are.

    The first, at once, where one does not tell. Meanwhile it does what work they have, and polls.
    """
    known = [one for one in pending if isinstance(one, Awaited)]
    if len(known) < len(pending) or len(known) == 1:
        return 0
    polled = time.monotonic()
    while True:
        for number, one in enumerate(known):
            if one.is_there:
                return number
        worked = any(one.work() for one in known)
        if not worked:
            left = [future for one in known for future in one.futures if not future.done()]
            wait(left, timeout=POLL_EVERY_S, return_when=FIRST_COMPLETED)
        if not worked or time.monotonic() - polled >= POLL_EVERY_S:
            polled = time.monotonic()
            for one in known:
                one.poll()
