"""What a run cost by its events: CPU time, or wall clock, of training and of evaluating."""

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
"""A number of an event that is beyond this is none, as nan is."""


@dataclass(frozen=True)
class Spent:
    """What a run cost, in seconds of one worker."""

    training: float
    """Without evaluations."""
    evaluating: float
    evaluations: int
    is_cpu: bool
    """Whether it is CPU time; wall clock of older versions' runs."""


def read(events: Path, evaluated: Set[int]) -> Spent | None:
    """What the run cost, by its step events; None where they do not tell.

    `evaluated`: the steps at which users were met; elsewhere the phase of the evaluation is what
    training measures. CPU time of a step is what its process's clock moved since the event before,
    divided over its phases as the wall clock was: an attempt's first step bears its imports.
    """
    wall = {True: 0.0, False: 0.0}
    shares = {True: 0.0, False: 0.0}
    clock, is_cpu = 0.0, True
    for event in _steps(events):
        if event["event"] != "step":
            clock = 0.0  # a new process
            continue
        seconds = event["seconds"]
        met = event.get("step") in evaluated
        phases = {
            at: sum(v for k, v in seconds.items() if (met and k in EVALUATING) is at) for at in wall
        }
        is_cpu = is_cpu and isinstance(event.get("cpu_s"), int | float)
        now = float(event["cpu_s"]) if is_cpu else 0.0
        moved, clock = max(0.0, now - clock), now
        both = phases[True] + phases[False]
        for at, phase in phases.items():
            wall[at] += phase
            shares[at] += moved * phase / both if both > 0 else 0.0
    if not wall[False] > 0:
        return None
    used = shares if is_cpu else wall
    return Spent(used[False], used[True], len(evaluated), is_cpu)


def _steps(events: Path) -> Iterator[dict[str, Any]]:
    """Events of new rows and of processes that begin; a damaged line tells nothing."""
    try:
        with open(events, "rb", opener=plain_file.opener) as file:
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):
                    event = json.loads(line)
                    if _begins(event) or _is_step(event):
                        yield event
    except OSError:
        return


def _begins(event: Any) -> bool:
    return isinstance(event, dict) and event.get("event") in ("start", "resume")


def _is_step(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("event") != "step" or event.get("replayed"):
        return False
    seconds, clock = event.get("seconds"), event.get("cpu_s")
    if type(event.get("step")) is not int or not isinstance(seconds, dict):
        return False
    told = clock is None or _is_time(clock)  # older versions' events have no clock
    return told and all(map(_is_time, seconds.values()))


def _is_time(value: Any) -> bool:
    """Whether a value is seconds; nan and numbers too large for a float are not."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < MOST_SECONDS
