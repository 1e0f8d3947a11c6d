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

    def __init__(self, store: Any, size: int, group_size: int, rounds: Callable[[], int]) -> None:
        """`size`: number of ranks; `group_size`: ranks per group; `rounds`: as in `answer`."""
        self._store, self._size, self._group_size, self._rounds = store, size, group_size, rounds
        self._lock = threading.Lock()
        self._answers: dict[int, int] | None = None

    def silent(self) -> list[int]:
        """Return the ranks that do not answer; none if none of several ranks answers, as when one
        was stopped with the store locked.

        Takes up to 2 * ANSWERS_WITHIN_S and can be called from any thread.
        """
        answers = self._collect_answers()
        ranks = [rank for rank in range(1, self._size) if rank not in answers]
        return [] if 1 < len(ranks) == self._size - 1 else ranks

    def missing(self) -> list[int]:
        """Return the ranks other than rank 0 that the run waits for: the silent ones, else those
        behind; empty if none can be identified.
        """
        late_ranks = behind(self._collect_answers(), self._group_size)
        return self.silent() or [rank for rank in late_ranks if rank > 0]

    def _collect_answers(self) -> Mapping[int, int]:
        """Return the rounds begun by each rank that answers."""
        with self._lock:
            if self._answers is None:
                self._answers = {0: self._rounds()}
                call = threading.Thread(target=self._call, args=(self._answers,), daemon=True)
                call.start()  # may block: a stopped rank can keep the store's file locked
                call.join(2 * ANSWERS_WITHIN_S)
            return dict(self._answers)

    def _call(self, answers: dict[int, int]) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        with contextlib.suppress(RuntimeError):
            self._store.set(CALLED, "")
            while len(answers) < self._size and time.monotonic() < deadline:
                time.sleep(POLL_S)
                for rank in range(1, self._size):
                    if rank not in answers and self._store.check([str(rank)]):
                        answers[rank] = int(self._store.get(str(rank)))


def behind(rounds: Mapping[int, int], group_size: int) -> list[int]:
    """Return the ranks that have begun fewer rounds than another rank of their group."""
    furthest: dict[int, int] = {}
    for rank, begun in rounds.items():
        furthest[rank // group_size] = max(begun, furthest.get(rank // group_size, 0))
    return [rank for rank, begun in sorted(rounds.items()) if begun < furthest[rank // group_size]]
