"""What a run says to a person: not every step, but the last one, and what is next."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from harness.train.loop.progress_lines import line_printer


def test_the_last_step_and_what_is_next_are_told_whatever_the_pace() -> None:
    stream = io.StringIO()
    tell = line_printer(stream, Path("runs/a"))
    for step in (1, 2, 3):
        values = {"entropy": 1.5, "reward": 0.1 * step, "eval/reward": None}
        tell({"event": "step", "step": step, "values": values})
    assert stream.getvalue() == "step 1  H 1.500  batch R 0.100\n"
    tell({"event": "end", "status": "done", "exit_code": 0})
    assert stream.getvalue().splitlines()[1:] == [
        "step 3  H 1.500  batch R 0.300",
        "done; next: `harness fit-entropy-law runs/a`",
    ]


def test_a_run_that_was_stopped_says_so_itself() -> None:
    stream = io.StringIO()
    line_printer(stream, Path("runs/a"))({"event": "end", "status": "stopped", "exit_code": 75})
    assert stream.getvalue() == ""


def test_a_long_evaluation_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    stream = io.StringIO()
    tell = line_printer(stream, Path("runs/a"))
    for held in (0, 16, 32, 48):
        seconds = 3.0 * held / 16
        now = 100 + seconds
        tell({"event": "evaluation", "step": 1, "held": held, "of": 192, "seconds": seconds})
    assert stream.getvalue() == "step 1  0 of 192 evaluated\nstep 1  32 of 192 evaluated\n"
