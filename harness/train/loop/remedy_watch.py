"""Says once that a run's remedy has not acted: its numbers are then those of a run without it."""

from __future__ import annotations

from harness.train.loop.session import Session
from harness.utils import safe_text

STEPS = 20


class RemedyWatch:
    """Looks on for the first STEPS steps of an attempt."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._idle: int | None = 0

    def look(self, step: int, acted: float | None) -> None:
        """`acted`: remedy/acted of row `step`; None without a remedy."""
        if self._idle is None or acted is None:
            return
        self._idle = self._idle + 1 if acted == 0 else None
        if self._idle == STEPS:
            name = self._session.config.remedy.name
            self._session.note("remedy_inactive", step=step, steps=STEPS)
            safe_text.say(
                f"step {step}: remedy={name} has acted on no token in {STEPS} steps: so far this "
                "run is one without it (remedy/acted, docs/remedies.md)"
            )
