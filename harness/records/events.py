"""events.jsonl: what varies between two runs of one config: wall clock, phases, resumes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from harness.records import atomic


class EventLog:
    """Appends one JSON object a line; not fsynced, since nothing is computed from it."""

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
