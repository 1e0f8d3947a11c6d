"""events.jsonl: everything that varies between two runs of one config: wall clock, phases, resumes.

It records which attempt at a run wrote a row, and the versions that the attempt ran with. The file
is not fsynced; where an entry is missing, callers fall back on the versions in run.json.
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
    """Appends events, one JSON object per line, without fsync: no metric depends on them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, event: str, **values: Any) -> None:
        record = {"time_unix_s": round(time.time(), 3), "event": event, **values}
        line = (json.dumps(record, allow_nan=False) + "\n").encode()
        with atomic.storage_errors(self._path):
            descriptor = atomic.open_to_append(self._path)
            try:
                atomic.write_all(descriptor, line)
            finally:
                os.close(descriptor)


BEGINNINGS = ("start", "resume")
TIME = re.compile(rb'\{"time_unix_s": (\d{1,12}(?:\.\d+)?),')
TIME_BYTES = 64
"""Length of the start of a line, which contains its time."""
LAST_BYTES = 65_536
"""Length of the end of the file that is searched for the last event."""


def writer(events: Path, step: int, planned: MadeBy) -> MadeBy:
    """Return the versions of the attempt that wrote row `step`, or `planned` if not recorded."""
    return _made_by(_attempt(events, step)) or planned


def ranks(events: Path, step: int) -> int:
    """Return the number of ranks of the attempt that wrote row `step`, 1 if not recorded."""
    count = _attempt(events, step).get("ranks")
    return count if isinstance(count, int) else 1


def _attempt(events: Path, step: int) -> dict[str, Any]:
    """Return the first event of the attempt that wrote row `step`; empty if not recorded."""
    attempt: dict[str, Any] = {}
    writer_event: dict[str, Any] = {}
    for event in _attempt_events(events, step):
        if event.get("event") in BEGINNINGS:
            attempt = event
        elif event.get("event") == "step" and event.get("step") == step:
            writer_event = writer_event if event.get("replayed") else attempt
    return writer_event


def every(events: Path) -> list[MadeBy]:
    """Return the distinct versions of the attempts, in order; older versions recorded none."""
    attempts = [
        _made_by(event) for event in _attempt_events(events, 0) if event.get("event") in BEGINNINGS
    ]
    recorded = [versions for versions in attempts if versions is not None]
    return [versions for n, versions in enumerate(recorded) if versions not in recorded[:n]]


def beginning(events: Path) -> dict[str, Any]:
    """Return the first event of the first attempt; empty if not recorded."""
    beginnings = (event for event in _attempt_events(events, 0) if event.get("event") in BEGINNINGS)
    return next(beginnings, {})


def began_unix_s(events: Path) -> float | None:
    """Return the Unix time of the first event in seconds; None if it cannot be read."""
    with contextlib.suppress(OSError), open(events, "rb", opener=plain_file.opener) as file:
        if match := TIME.match(file.read(TIME_BYTES)):
            return float(match[1])
    return None


def last_unix_s(events: Path) -> float | None:
    """Return the Unix time of the last event in seconds; None if it cannot be read."""
    with contextlib.suppress(OSError), open(events, "rb", opener=plain_file.opener) as file:
        file.seek(max(file.seek(0, os.SEEK_END) - LAST_BYTES, 0))
        for line in reversed(file.read().split(b"\n")):
            if match := TIME.match(line):
                return float(match[1])
    return None


def last_step_s(events: Path) -> float:
    """Return the duration of the last step in seconds, summed over its phases; 0 if unknown."""
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


def _attempt_events(events: Path, step: int) -> Iterator[dict[str, Any]]:
    """Yield the first events of attempts and the events of row `step`. Skips damaged lines."""
    marks = (b'"start"', b'"resume"', f'"step": {step},'.encode())
    try:
        with open(events, "rb", opener=plain_file.opener) as file:
            for line in file:
                if any(mark in line for mark in marks):
                    try:
                        event = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    if isinstance(event, dict):
                        yield event
    except OSError:
        return
