"""What a run says while it trains: events to a program, a line every few seconds to a person.

A program that reads slowly is waited for at each step, until a deadline or a signal ends the run.
A person is not waited for, and nobody is while the run begins or ends.
"""

from __future__ import annotations

import contextlib
import json
import os
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
    """Events as lines on stdout, without a step's values; a closed pipe does not stop training.

    Steps and checkpoints wait until they are taken, the other events for bounded.WAIT_S.
    """

    def emit(event: Mapping[str, Any]) -> None:
        public = {k: v for k, v in event.items() if k != "values"}
        line = (json.dumps(public) + "\n").encode()
        if event["event"] not in WAITED_FOR:
            safe_text.write(STDOUT, line)
            return
        with contextlib.suppress(OSError):
            os.write(STDOUT, line)  # unbuffered, since a signal may come amid a buffered write

    return emit if enabled else lambda event: None


def talker(stream: TextIO, run: Path) -> Emit:
    """Print step, H and R at most every EVERY_S seconds and at the end of the run, then what is
    next; a stream that is closed, or that nobody reads just now, does not stop training.
    """
    last, kept = -EVERY_S, ""

    def emit(event: Mapping[str, Any]) -> None:
        nonlocal last, kept
        now, due = time.monotonic(), False
        if event["event"] == "step":
            kept = f"step {event['step']}  {_measured(event['values'])}\n"
            due = now - last >= EVERY_S
        elif event["event"] == "end" and event["status"] == "done":
            kept += f"done; next: `harness fit-entropy-law {run}`\n"
            due = True
        if due:
            safe_text.tell(stream, kept, 0.0 if event["event"] == "step" else safe_text.WAIT_S)
            last, kept = now, ""

    return emit


def _measured(values: Mapping[str, float | None]) -> str:
    shown = {"H": "entropy", "R": "reward", "eval": "eval/reward"}
    found = {k: values.get(key) for k, key in shown.items()}
    return "  ".join(f"{k} {v:.3f}" for k, v in found.items() if v is not None)


def say(text: str, within_s: float = safe_text.WAIT_S) -> None:
    """To a person, also from within a signal's handler."""
    safe_text.write(STDERR, text.encode(), within_s)
