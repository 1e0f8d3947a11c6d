"""Read the cost of a run from its events: CPU or wall-clock time of training and evaluation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.records import plain_file

EVALUATING = ("eval", "repeats", "deaf")
"""Phases of a step's event that belong to its evaluation."""
MOST_SECONDS = 1e12
"""Larger values in an event are invalid."""


@dataclass(frozen=True)
class RunCost:
    """The cost of a run, in seconds of one worker."""

    training: float
    """Seconds without evaluations."""
    evaluating: float
    evaluations: int
    is_cpu: bool
    """Whether it is CPU time. Runs of older versions have wall-clock time only."""


def read(events: Path, evaluated: Set[int]) -> RunCost | None:
    """Return the cost of a run by its step events; None if they do not contain it.

    `evaluated`: the steps with an evaluation. In other steps the evaluation phases hold
    measurements that count as training. The CPU time of a step is the advance of its process's
    clock since the previous event, divided over its phases in proportion to wall-clock time. So the
    first step of an attempt includes its imports.
    """
    wall = {True: 0.0, False: 0.0}
    shares = {True: 0.0, False: 0.0}
    clock, is_cpu = 0.0, True
    for event in sound_events(events):
        if event["event"] != "step":
            clock = 0.0  # a new process
            continue
        seconds = event["seconds"]
        is_evaluated = event.get("step") in evaluated
        phases = {True: 0.0, False: 0.0}
        for phase, phase_seconds in seconds.items():
            phases[is_evaluated and phase in EVALUATING] += phase_seconds
        is_cpu = is_cpu and isinstance(event.get("cpu_s"), int | float)
        now = float(event["cpu_s"]) if is_cpu else 0.0
        advance, clock = max(0.0, now - clock), now
        total = phases[True] + phases[False]
        for is_evaluation, phase_total in phases.items():
            wall[is_evaluation] += phase_total
            shares[is_evaluation] += advance * phase_total / total if total > 0 else 0.0
    if not wall[False] > 0:
        return None
    used = shares if is_cpu else wall
    return RunCost(used[False], used[True], len(evaluated), is_cpu)


def sound_events(events: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of new rows and of starting processes. Damaged lines are skipped."""
    try:
        with open(events, "rb", opener=plain_file.opener) as file:
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):
                    event = json.loads(line)
                    if _is_start(event) or _is_step(event):
                        yield event
    except OSError:
        return


def _is_start(event: Any) -> bool:
    return isinstance(event, dict) and event.get("event") in ("start", "resume")


def _is_step(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("event") != "step" or event.get("replayed"):
        return False
    seconds, clock = event.get("seconds"), event.get("cpu_s")
    if type(event.get("step")) is not int or not isinstance(seconds, dict):
        return False
    is_valid_clock = clock is None or _is_time(clock)  # older versions' events have no clock
    return is_valid_clock and all(map(_is_time, seconds.values()))


def _is_time(value: Any) -> bool:
    """Return whether a value is a valid number of seconds, which excludes nan and huge numbers."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < MOST_SECONDS
