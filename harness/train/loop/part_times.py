"""Wall clock of the parts of a phase that a step's event reports apart from the rest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping


class PartTimes:
    """Seconds by part, summed over a step."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """A context whose seconds are those of `part`."""
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
