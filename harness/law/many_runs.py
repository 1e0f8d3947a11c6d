"""Many runs, each by itself: here, and in other processes where there are enough to pay for them.

A process costs about a second before its first run, so a few dozen runs are done in this one.
Which process does a run changes nothing in it, and the order is that of the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

from harness.law import identity, one_run
from harness.law.choice import Choice
from harness.law.discover import Found
from harness.law.identity import Identity
from harness.law.one_run import Analysed

FEWEST_RUNS = 100
"""Fewer are done sooner than a second process starts."""
MOST_PROCESSES = 4
"""More do not pay: what is done with all runs at the end is done by one."""
CHUNK = 20
"""Runs handed over at once: few enough that no process waits long for the last."""


@dataclass(frozen=True)
class Done:
    """A run's folder, and what was found of it."""

    who: Identity
    analysed: Analysed


def analyse(runs: Sequence[Found], choice: Choice, processes: int = 1) -> list[Done]:
    """One for each run, in their order."""
    processes = min(processes, MOST_PROCESSES)
    if processes < 2 or len(runs) < FEWEST_RUNS:
        return _in_turn(runs, choice)
    chunks = [runs[at : at + CHUNK] for at in range(0, len(runs), CHUNK)]
    try:
        return [done for chunk in _shared(chunks, choice, processes) for done in chunk]
    except BrokenProcessPool:  # one was killed, by a lack of memory most likely
        return _in_turn(runs, choice)


def _in_turn(runs: Sequence[Found], choice: Choice) -> list[Done]:
    done = []
    for run in runs:
        who = identity.read(run.folder)
        done.append(Done(who, one_run.analyse(run, who, choice)))
    return done


def _shared(chunks: Sequence[Sequence[Found]], choice: Choice, processes: int) -> list[list[Done]]:
    """The other processes begin at the front; this one takes what they have not begun, from the
    end. They are spawned: a fork of a process that has threads may hang.
    """
    with ProcessPoolExecutor(processes - 1, get_context("spawn")) as pool:
        begun = [pool.submit(_in_turn, chunk, choice) for chunk in chunks]
        here = [
            _unless_begun(*pair, choice) for pair in zip(begun[::-1], chunks[::-1], strict=True)
        ]
        pairs = zip(here[::-1], begun, strict=True)
        return [future.result() if done is None else done for done, future in pairs]


def _unless_begun(
    future: Future[list[Done]], chunk: Sequence[Found], choice: Choice
) -> list[Done] | None:
    return _in_turn(chunk, choice) if future.cancel() else None
