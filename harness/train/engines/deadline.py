"""An end to a step that hangs, by a thread that looks on: a hang need not come back to Python."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Deadline:
    """Calls `over`, in a thread of its own, where a step takes longer than `seconds`."""

    def __init__(self, seconds: float | None, over: Callable[[], None]) -> None:
        self._seconds, self._over = seconds, over
        self._timer: threading.Timer | None = None

    def restart(self) -> None:
        """A step begins."""
        self.end()
        if self._seconds is not None:
            self._timer = threading.Timer(self._seconds, self._over)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """No step is under way."""
        if self._timer is not None:
            self._timer.cancel()
