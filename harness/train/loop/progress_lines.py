"""Progress of a run during training: events for programs, a line every few seconds for people.

A program that reads slowly delays each step, until a deadline or a signal ends the run. A terminal
does not, and neither delays the beginning or the end of the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from harness.utils import safe_text

STDOUT, STDERR = 1, 2
EVERY_S = 5.0
WAITED_FOR = ("step", "checkpoint")
Emit = Callable[[Mapping[str, Any]], None]


def jsonl_emitter(enabled: bool) -> Emit:
    """Return a function that writes events to stdout as JSON lines, without a step's values.

    It does nothing unless `enabled`. A closed pipe does not stop training. Events of steps and
    checkpoints wait until they are read, other events at most safe_text.WAIT_S.
    """

    def emit(event: Mapping[str, Any]) -> None:
        public = {k: v for k, v in event.items() if k != "values"}
        line = (json.dumps(public) + "\n").encode()
        if event["event"] not in WAITED_FOR:
            safe_text.write(STDOUT, line)
            return
        with contextlib.suppress(OSError):
            os.write(STDOUT, line)  # unbuffered, since a signal may come during a buffered write

    return emit if enabled else lambda event: None


def line_printer(stream: TextIO, run: Path) -> Emit:
    """Return a function that prints step, H and both R at most every EVERY_S seconds and at the
    end, followed by the command to run next.

    Long evaluations print their progress. A stream that is closed or not read does not stop
    training.
    """
    last, pending = -EVERY_S, ""

    def emit(event: Mapping[str, Any]) -> None:
        nonlocal last, pending
        now, due = time.monotonic(), False
        if event["event"] == "step":
            pending = f"step {event['step']}  {_format_measures(event['values'])}\n"
            due = now - last >= EVERY_S
        elif event["event"] == "evaluation":
            waited = event["seconds"] if event["held"] else EVERY_S
            due = min(now - last, waited) >= EVERY_S
            if due:
                pending += f"step {event['step']}  {event['held']} of {event['of']} evaluated\n"
        elif event["event"] == "end" and event["status"] == "done":
            pending += f"done; next: `harness fit-entropy-law {shlex.quote(str(run))}`\n"
            due = True
        if due:
            safe_text.tell(stream, pending, safe_text.WAIT_S if event["event"] == "end" else 0.0)
            last, pending = now, ""

    return emit


def _format_measures(values: Mapping[str, float | None]) -> str:
    columns = {"H": "entropy", "batch R": "reward", "held-out R": "eval/reward"}
    numbers = {k: values.get(key) for k, key in columns.items()}
    return "  ".join(f"{k} {v:.3f}" for k, v in numbers.items() if v is not None)


def say(text: str, within_s: float = safe_text.WAIT_S) -> None:
    """Write to stderr. Safe in a signal handler."""
    safe_text.write(STDERR, text.encode(), within_s)
