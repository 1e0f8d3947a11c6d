"""Which ranks a run waits for, asked of the ranks themselves.

Ranks in step with each other wait in torch, or in an engine, where no result says which of them is
missing. So a thread of each answers a roll call. One that is stopped, or holds Python's lock, does
not answer; and of a group those are waited for that have begun fewer rounds than others.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

NAME = "roll-call"
"""Of the store."""
CALLED = "called"
LOOKS_EVERY_S = 0.5
ANSWERS_WITHIN_S = 5.0
"""Far longer than a thread needs that looks so often."""
POLL_S = 0.05


def answer(store: Any, rank: int, rounds: Callable[[], int]) -> None:
    """Answer a roll call from a thread of this rank's process; `rounds`: how many it has begun."""
    threading.Thread(target=_answer, args=(store, rank, rounds), daemon=True).start()


def _answer(store: Any, rank: int, rounds: Callable[[], int]) -> None:
    with contextlib.suppress(RuntimeError):  # rank 0 is gone, and its store with it
        while not store.check([CALLED]):
            time.sleep(LOOKS_EVERY_S)
        store.set(str(rank), str(rounds()))


class RollCall:
    """Rank 0's call, which is made once: the run then ends."""

    def __init__(self, store: Any, size: int, in_group: int, rounds: Callable[[], int]) -> None:
        """`size`: number of ranks, `in_group` of which are in step; `rounds`: begun by rank 0."""
        self._store, self._size, self._in_group, self._rounds = store, size, in_group, rounds
        self._lock = threading.Lock()
        self._answers: dict[int, int] | None = None

    def silent(self) -> list[int]:
        """The ranks that do not answer; none if of several none does, as where one was stopped with
        the store locked. Takes up to ANSWERS_WITHIN_S; called from any thread.
        """
        answers = self._called()
        found = [rank for rank in range(1, self._size) if rank not in answers]
        return [] if 1 < len(found) == self._size - 1 else found

    def missing(self) -> list[int]:
        """The ranks but the first that are waited for: silent ones, else those behind; empty where
        none can be told from the others.
        """
        late = behind(self._called(), self._in_group)
        return self.silent() or [rank for rank in late if rank > 0]

    def _called(self) -> Mapping[int, int]:
        """The rounds that each rank has begun, of those that answer."""
        with self._lock:
            if self._answers is None:
                self._answers = {0: self._rounds()}
                call = threading.Thread(target=self._call, args=(self._answers,), daemon=True)
                call.start()  # a rank that was stopped while it looked keeps a file locked
                call.join(2 * ANSWERS_WITHIN_S)
            return dict(self._answers)

    def _call(self, answers: dict[int, int]) -> None:
        until = time.monotonic() + ANSWERS_WITHIN_S
        with contextlib.suppress(RuntimeError):
            self._store.set(CALLED, "")
            while len(answers) < self._size and time.monotonic() < until:
                time.sleep(POLL_S)
                for rank in range(1, self._size):
                    if rank not in answers and self._store.check([str(rank)]):
                        answers[rank] = int(self._store.get(str(rank)))


def behind(rounds: Mapping[int, int], in_group: int) -> list[int]:
    """The ranks that have begun fewer rounds than another of their group of `in_group`."""
    most: dict[int, int] = {}
    for rank, begun in rounds.items():
        most[rank // in_group] = max(begun, most.get(rank // in_group, 0))
    return [rank for rank, begun in sorted(rounds.items()) if begun < most[rank // in_group]]
