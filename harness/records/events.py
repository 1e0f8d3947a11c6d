"""events.jsonl: what varies between two runs of one config: wall clock, phases, resumes.

It tells which attempt at a run wrote a row, and what that attempt ran with. It is not fsynced:
where it does not know, the run's first attempt is what is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.records import atomic, plain_file
from harness.records.provenance import MadeBy
from harness.utils import shape


class EventLog:
    """Appends one JSON object a line; not fsynced, since no row is computed from it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, event: str, **values: Any) -> None:
        record = {"time_unix_s": round(time.time(), 3), "event": event, **values}
        line = (json.dumps(record, allow_nan=False) + "\n").encode()
        with atomic.storage(self._path):
            descriptor = atomic.open_to_append(self._path)
            try:
                atomic.write_all(descriptor, line)
            finally:
                os.close(descriptor)


BEGINNINGS = ("start", "resume")
TIME = re.compile(rb'\{"time_unix_s": (\d{1,12}(?:\.\d+)?),')
TIME_BYTES = 64
"""Enough of a line for its time."""
LAST_BYTES = 65_536
"""The end of the file in which the last whole line is looked for."""


def writer(events: Path, step: int, planned: MadeBy) -> MadeBy:
    """Versions of the attempt that wrote row `step`; `planned` where the events do not tell."""
    return _made_by(_attempt(events, step)) or planned


def ranks(events: Path, step: int) -> int:
    """Number of ranks of the attempt that wrote row `step`."""
    told = _attempt(events, step).get("ranks")
    return told if isinstance(told, int) else 1


def _attempt(events: Path, step: int) -> dict[str, Any]:
    """The beginning of the attempt that wrote row `step`; empty where the events do not tell."""
    at_hand: dict[str, Any] = {}
    wrote: dict[str, Any] = {}
    for event in _told(events, step):
        if event.get("event") in BEGINNINGS:
            at_hand = event
        elif event.get("event") == "step" and event.get("step") == step:
            wrote = wrote if event.get("replayed") else at_hand
    return wrote


def every(events: Path) -> list[MadeBy]:
    """Versions of the attempts, in order, each once; runs of older versions record none."""
    attempts = [_made_by(event) for event in _told(events, 0) if event.get("event") in BEGINNINGS]
    told = [one for one in attempts if one is not None]
    return [one for n, one in enumerate(told) if one not in told[:n]]


def beginning(events: Path) -> dict[str, Any]:
    """The event with which the first attempt began; empty where none is told."""
    told = (event for event in _told(events, 0) if event.get("event") in BEGINNINGS)
    return next(told, {})


def began_unix_s(events: Path) -> float | None:
    """When the first event was written; None where the file does not tell."""
    with contextlib.suppress(OSError), open(events, "rb", opener=plain_file.opener) as file:
        if found := TIME.match(file.read(TIME_BYTES)):
            return float(found[1])
    return None


def last_unix_s(events: Path) -> float | None:
    """When the last event was written; None where the file does not tell."""
    with contextlib.suppress(OSError), open(events, "rb", opener=plain_file.opener) as file:
        file.seek(max(file.seek(0, os.SEEK_END) - LAST_BYTES, 0))
        for line in reversed(file.read().split(b"\n")):
            if found := TIME.match(line):
                return float(found[1])
    return None


def last_step_s(events: Path) -> float:
    """How long the last step took, by the events; 0 where they do not tell."""
    try:
        with open(events, "rb", opener=plain_file.opener) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = file.read(LAST_BYTES).splitlines()
    except OSError:
        return 0.0
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line) if b'"step"' in line else None
            if isinstance(event, dict) and event.get("event") == "step":
                phases = event.get("seconds")
                values = phases.values() if isinstance(phases, dict) else ()
                return float(sum(v for v in values if type(v) in (int, float)))
    return 0.0


def _made_by(event: dict[str, Any]) -> MadeBy | None:
    return None if shape.problem(MadeBy, event) else MadeBy(event["versions"], event["git"])


def _told(events: Path, step: int) -> Iterator[dict[str, Any]]:
    """Beginnings of attempts and the events of row `step`; a line that is damaged tells nothing."""
    wanted = (b'"start"', b'"resume"', f'"step": {step},'.encode())
    try:
        with open(events, "rb", opener=plain_file.opener) as file:
            for line in file:
                if any(mark in line for mark in wanted):
                    try:
                        event = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    if isinstance(event, dict):
                        yield event
    except OSError:
        return
