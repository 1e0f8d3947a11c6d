"""Says once that a run's remedy has not acted: its numbers are then those of a run without it."""

from __future__ import annotations

import math

import numpy as np

from harness.config import engine_choice
from harness.errors import StoppedError
from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import MOST_IMPORTANCE
from harness.train.loop.session import Session
from harness.utils import messages

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
            messages.say(
                f"step {step}: remedy={name} has acted on no token in {STEPS} steps: so far this "
                "run is one without it (remedy/acted, docs/remedies.md)"
            )


LIMITS = {0.5: 3, 0.1: 20}
"""Nats a token -> steps in a row that the gap may not be wider. The narrowest is warned of from the
first step: seven times what rounding does, half of what stale weights did.
"""
GAP = "sampling/sampling_logp_difference/mean"


def metrics(trainer: FloatArray, engine: FloatArray, corrected: bool) -> dict[str, float]:
    """Of log-probabilities of shape (tokens,), before the update; ratios as the loss weighs by."""
    gap = np.abs(trainer - engine)
    found = {
        GAP: float(gap.mean()),
        "sampling/sampling_logp_difference/max": float(gap.max()),
    }
    if corrected:
        ratio = np.minimum(np.exp(trainer - engine), MOST_IMPORTANCE)
        for name, value in (("min", ratio.min()), ("mean", ratio.mean()), ("max", ratio.max())):
            found[f"sampling/importance_sampling_ratio/{name}"] = float(value)
    return found


class GapWatch:
    """Warns of a wide gap, and ends a run in which it persists."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = dict.fromkeys(LIMITS, 0)

    def judge(self, step: int, gap_nats: float) -> None:
        """After step `step`. Raises StoppedError once the gap has been too wide for too long."""
        for limit in LIMITS:
            within = gap_nats <= limit  # which what is not a number is not
            self._steps[limit] = 0 if within else self._steps[limit] + 1
        self._warn(step, gap_nats)
        for limit, most in LIMITS.items():
            if self._steps[limit] >= most and step < self._session.config.trainer.steps:
                raise StoppedError(
                    f"{self._session.run.path}: step {step}: engine gap: the log-probabilities of "
                    f"{engine_choice.chosen(self._session.config)} and of the trainer must agree "
                    f"within {limit:g} nats a token, differed by {gap_nats:.3f} and by more than "
                    f"{limit:g} for {most} steps; a run with trainer.engine=transformers has no "
                    f"such gap, `harness resume` goes on with this one"
                )

    def _warn(self, step: int, gap_nats: float) -> None:
        warned = min(LIMITS)
        if self._steps[warned]:
            known = gap_nats if math.isfinite(gap_nats) else None
            self._session.note("engine_gap", step=step, nats=known)
        if self._steps[warned] == 1:
            messages.say(
                f"step {step}: the engine's log-probabilities differ from the trainer's by "
                f"{gap_nats:.3f} nats a token, more than {warned:g}: are its weights stale?"
            )
