"""What a run says while it trains: events to a program, a line every few seconds to a person."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

STDOUT, STDERR = 1, 2
EVERY_S = 5.0
Emit = Callable[[Mapping[str, Any]], None]


def jsonl_emitter(enabled: bool) -> Emit:
    """Events as lines on stdout, without a step's values; a closed pipe does not stop training."""

    def emit(event: Mapping[str, Any]) -> None:
        public = {k: v for k, v in event.items() if k != "values"}
        _write(STDOUT, json.dumps(public) + "\n")

    return emit if enabled else lambda event: None


def talker(stream: TextIO, run: Path) -> Emit:
    """Print step, H and R at most every EVERY_S seconds and at the end of the run, then what is
    next; a closed stream does not stop training.
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
            with contextlib.suppress(OSError):
                print(kept, end="", file=stream, flush=True)
            last, kept = now, ""

    return emit


def _measured(values: Mapping[str, float | None]) -> str:
    shown = {"H": "entropy", "R": "reward", "eval": "eval/reward"}
    found = {k: values.get(key) for k, key in shown.items()}
    return "  ".join(f"{k} {v:.3f}" for k, v in found.items() if v is not None)


def say(text: str) -> None:
    """To a person, also from within a signal's handler."""
    _write(STDERR, text)


def _write(descriptor: int, text: str) -> None:
    """Unbuffered, since a signal may come amid a buffered write; a closed pipe is let go."""
    with contextlib.suppress(OSError):
        os.write(descriptor, text.encode())
