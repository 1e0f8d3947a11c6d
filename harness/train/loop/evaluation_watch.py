"""The evaluation under way: how far it is, and how long its parts take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from harness.train.loop.progress_lines import Emit


class EvaluationWatch:
    """Watches the evaluations of an attempt, of which one at most is under way."""

    def __init__(self, emit: Emit, is_slow: bool, poll: Callable[[], None]) -> None:
        """`emit`: tells how far one is, also before its first conversation where it `is_slow`;
        `poll`: called as often, may raise to end it.
        """
        self._emit, self._is_slow, self._poll = emit, is_slow, poll
        self.step: int | None = None
        """The step whose evaluation is under way; None between two."""
        self._seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def of_step(self, step: int) -> Iterator[Callable[[int, int], None]]:
        """A context for the evaluation of `step`. It yields a function to be called with the
        conversations held so far and those in all.
        """
        began = time.monotonic()

        def at(held: int, of: int) -> None:
            if held or self._is_slow:
                spent = round(time.monotonic() - began, 1)
                far = {"held": held, "of": of, "seconds": spent}
                self._emit({"event": "evaluation", "step": step, **far})
            self._poll()

        self.step = step
        try:
            yield at
        finally:
            self.step = None

    @contextlib.contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """A context for a part that the step's event times apart from the rest."""
        began = time.monotonic()
        try:
            yield
        finally:
            spent = self._seconds.get(part, 0.0) + time.monotonic() - began
            self._seconds[part] = spent

    def taken_from(self, phase: str, phases_s: Mapping[str, float]) -> Mapping[str, float]:
        """`phases_s` with the parts beside `phase`, which is left without them; then begin anew."""
        apart, self._seconds = self._seconds, {}
        if not apart:
            return phases_s
        rest = phases_s.get(phase, 0.0) - sum(apart.values())
        return {**phases_s, phase: rest, **apart}
