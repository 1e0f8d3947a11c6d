"""A roll call that finds out which ranks a run waits for.

Ranks that work together wait in torch or in an engine, which does not tell which rank is missing.
Therefore a thread of each rank answers a roll call. A rank that is stopped, or holds the GIL, does
not answer. Within a group, the run waits for the ranks that have begun fewer rounds than others.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

NAME = "roll-call"
"""Name of the store."""
CALLED = "called"
LOOKS_EVERY_S = 0.5
ANSWERS_WITHIN_S = 5.0
"""Many times LOOKS_EVERY_S, after which a healthy thread answers."""
POLL_S = 0.05


def answer(store: Any, rank: int, rounds: Callable[[], int]) -> None:
    """Start a thread that answers a roll call; `rounds`: returns the rounds this rank has begun."""
    threading.Thread(target=_answer, args=(store, rank, rounds), daemon=True).start()


def _answer(store: Any, rank: int, rounds: Callable[[], int]) -> None:
    with contextlib.suppress(RuntimeError):  # rank 0 and its store are gone
        while not store.check([CALLED]):
            time.sleep(LOOKS_EVERY_S)
        store.set(str(rank), str(rounds()))


class RollCall:
    """Rank 0's roll call, made at most once, since the run ends after it."""

    def __init__(self, store: Any, size: int, in_group: int, rounds: Callable[[], int]) -> None:
        """`size`: number of ranks; `in_group`: ranks per group; `rounds`: as in `answer`."""
        self._store, self._size, self._in_group, self._rounds = store, size, in_group, rounds
        self._lock = threading.Lock()
        self._answers: dict[int, int] | None = None

    def silent(self) -> list[int]:
        """Return the ranks that do not answer; none if none of several ranks answers, as when one
        was stopped with the store locked.

        Takes up to 2 * ANSWERS_WITHIN_S and can be called from any thread.
        """
        answers = self._called()
        found = [rank for rank in range(1, self._size) if rank not in answers]
        return [] if 1 < len(found) == self._size - 1 else found

    def missing(self) -> list[int]:
        """Return the ranks other than rank 0 that the run waits for: the silent ones, else those
        behind; empty if none can be identified.
        """
        late = behind(self._called(), self._in_group)
        return self.silent() or [rank for rank in late if rank > 0]

    def _called(self) -> Mapping[int, int]:
        """Return the rounds begun by each rank that answers."""
        with self._lock:
            if self._answers is None:
                self._answers = {0: self._rounds()}
                call = threading.Thread(target=self._call, args=(self._answers,), daemon=True)
                call.start()  # may block: a stopped rank can keep the store's file locked
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
    """Return the ranks that have begun fewer rounds than another rank of their group."""
    most: dict[int, int] = {}
    for rank, begun in rounds.items():
        most[rank // in_group] = max(begun, most.get(rank // in_group, 0))
    return [rank for rank, begun in sorted(rounds.items()) if begun < most[rank // in_group]]
