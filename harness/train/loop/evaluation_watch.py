"""Progress of the current evaluation, and the duration of its parts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from harness.train.loop.progress_lines import Emit


class EvaluationWatch:
    """Watches the evaluations of an attempt, at most one at a time."""

    def __init__(self, emit: Emit, is_slow: bool, poll: Callable[[], None]) -> None:
        """`emit`: receives progress, also before the first conversation if evaluations are slow
        (`is_slow`); `poll`: called as often, may raise to end the evaluation.
        """
        self._emit, self._is_slow, self._poll = emit, is_slow, poll
        self.step: int | None = None
        """The step that is being evaluated; None between evaluations."""
        self._seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def of_step(self, step: int) -> Iterator[Callable[[int, int], None]]:
        """A context for the evaluation of `step`.

        It yields a function whose arguments are the number of conversations held so far and in
        total.
        """
        began = time.monotonic()

        def report(done: int, total: int) -> None:
            if done or self._is_slow:
                spent = round(time.monotonic() - began, 1)
                progress = {"held": done, "of": total, "seconds": spent}
                self._emit({"event": "evaluation", "step": step, **progress})
            self._poll()

        self.step = step
        try:
            yield report
        finally:
            self.step = None

    @contextlib.contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """A context for a part of the evaluation that the step's event times separately."""
        began = time.monotonic()
        try:
            yield
        finally:
            spent = self._seconds.get(part, 0.0) + time.monotonic() - began
            self._seconds[part] = spent

    def move_times_from(self, phase: str, phases_s: Mapping[str, float]) -> Mapping[str, float]:
        """Move the timed parts out of `phase` in `phases_s` to phases of their own; reset them."""
        parts_s, self._seconds = self._seconds, {}
        if not parts_s:
            return phases_s
        remaining = phases_s.get(phase, 0.0) - sum(parts_s.values())
        return {**phases_s, phase: remaining, **parts_s}
