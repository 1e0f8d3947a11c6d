"""Many runs, each by itself: here, and in other processes where there are enough to pay for them.

A process costs half a second before its first run, so a few dozen runs are done in this one.
Which process does a run changes nothing in it, and the order is that of the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from harness.law import one_run
from harness.law.io import identity
from harness.law.io.column_choice import Choice
from harness.law.io.discover import Found
from harness.law.io.identity import Identity
from harness.law.one_run import Analysed
from harness.utils import process_pool
from harness.utils.process_pool import FEWEST_RUNS

CHUNK = 5
"""Runs handed over at once: few, since a process still has one chunk in hand and two in its queue
when nothing is left to be taken from it, and the others wait for these. Sending 500 runs by fives
takes no longer than by twenties.
"""


@dataclass(frozen=True)
class Done:
    """A run's folder, and what was found of it."""

    who: Identity
    analysed: Analysed


def analyse(runs: Sequence[Found], choice: Choice, pool: Executor | None = None) -> list[Done]:
    """One for each run, in their order."""
    if len(runs) < FEWEST_RUNS:
        return _in_turn(choice, runs)
    chunks = [runs[at : at + CHUNK] for at in range(0, len(runs), CHUNK)]
    begun = process_pool.begin(pool, partial(_in_turn, choice), chunks)
    return [done for chunk in begun.results() for done in chunk]


def _in_turn(choice: Choice, runs: Sequence[Found]) -> list[Done]:
    done = []
    for run in runs:
        who = identity.read(run.folder)
        done.append(Done(who, one_run.analyse(run, who, choice)))
    return done
