"""Ending a run that has nothing more to gain, if trainer.stop_when asks for it.

The rule is in harness/stopping and depends only on the run's rows. A resumed run reads them from
disk, so it gets the same advice as a run that was never interrupted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.config.run import RunConfig
from harness.errors import EarlyEnd
from harness.stopping import rule
from harness.stopping.curve import RewardCurve

REWARD = "eval/reward"


class StopRule:
    """Collects rows, and decides after each row with an evaluation whether the run ends."""

    def __init__(self, config: RunConfig, obeyed_before: bool) -> None:
        """`obeyed_before`: whether the rule has ended this run before; it is then switched off."""
        self.name = None if obeyed_before else config.trainer.stop_when
        self._steps = config.trainer.steps
        self._entropy: dict[int, float] = {}
        self._rewards: dict[int, float] = {}

    def take_all(self, row: Callable[[int], Mapping[str, float | None]], last: int) -> None:
        """Add the rows on disk up to step `last`."""
        for step in range(1, last + 1 if self.name else 1):
            self.take(step, row(step))

    def take(self, step: int, values: Mapping[str, float | None]) -> None:
        """Add row `step`, or replace it if it is known."""
        if self.name is None:
            return
        entropy, reward = values.get("entropy"), values.get(REWARD)
        if entropy is not None:
            self._entropy[step] = entropy
        if reward is not None:
            self._rewards[step] = reward

    def reason(self, step: int) -> str | None:
        """Return why the run ends after `step`; None if it continues."""
        if self.name is None or step not in self._rewards or step >= self._steps:
            return None
        advice = rule.advise(self._curve(step), self._steps)
        return advice.reason if advice.obeys(self.name) else None

    def _curve(self, step: int) -> RewardCurve:
        """Return the curve of the rows up to `step`, without later rows from before a resume."""
        evaluated = sorted(s for s in self._rewards if s <= step)
        rewards = np.array([self._rewards[s] for s in evaluated])
        entropy = [self._entropy[s] for s in sorted(self._entropy) if s <= step]
        steps = np.array(evaluated, dtype=np.float64)
        return RewardCurve(steps, rewards, np.array(entropy))

    def end_error(self, where: str, step: int, reason: str) -> EarlyEnd:
        """Return the error that ends the run in folder `where` after `step`."""
        return EarlyEnd(
            f"{where}: step {step} of {self._steps}: ended by trainer.stop_when={self.name}: "
            f"{reason}; `harness resume {shlex.quote(where)}` continues without the rule"
        )

    def record(self, step: int) -> dict[str, Any]:
        """Return the entry for run.json."""
        return {"rule": self.name, "step": step}
