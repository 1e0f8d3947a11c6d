"""What a run says to a person while it trains: a line every few seconds, on stderr."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, TextIO

from harness.train.session import Emit

EVERY_S = 5.0


def talker(stream: TextIO) -> Emit:
    """Print step, H and R at most every EVERY_S seconds; a closed stream does not stop training."""
    last = -EVERY_S

    def emit(event: Mapping[str, Any]) -> None:
        nonlocal last
        now = time.monotonic()
        if event["event"] == "step" and now - last >= EVERY_S:
            last = now
            with contextlib.suppress(OSError):
                line = f"step {event['step']}  {_measured(event['values'])}"
                print(line, file=stream, flush=True)

    return emit


def _measured(values: Mapping[str, float | None]) -> str:
    shown = {"H": "entropy", "R": "reward", "eval": "eval/reward"}
    found = {k: values.get(key) for k, key in shown.items()}
    return "  ".join(f"{k} {v:.3f}" for k, v in found.items() if v is not None)
