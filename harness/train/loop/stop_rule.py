"""Ending a run that has nothing more to gain, where trainer.stop_when asks for it.

The rule is harness/stopping, on what stands in the rows: so a resumed run, which takes them from
the disk, is advised as one that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.config.run import RunConfig
from harness.errors import EarlyEnd
from harness.stopping import rule
from harness.stopping.curve import Curve

REWARD = "eval/reward"


class StopRule:
    """The rows so far, and the rule that may end the run after one with an evaluation."""

    def __init__(self, config: RunConfig, obeyed_before: bool) -> None:
        """`obeyed_before`: whether the rule has ended the run once, so that it goes on without."""
        self.name = None if obeyed_before else config.trainer.stop_when
        self._steps = config.trainer.steps
        self._entropy: dict[int, float] = {}
        self._rewards: dict[int, tuple[float, float]] = {}

    def take_all(self, row: Callable[[int], Mapping[str, float | None]], last: int) -> None:
        """Take in the rows on disk up to step `last`."""
        for step in range(1, last + 1 if self.name else 1):
            self.take(step, row(step))

    def take(self, step: int, values: Mapping[str, float | None]) -> None:
        """Take in row `step`; one that comes again replaces the one before."""
        if self.name is None:
            return
        entropy, reward, error = (values.get(k) for k in ("entropy", REWARD, f"{REWARD}_se"))
        if entropy is not None:
            self._entropy[step] = entropy
        if reward is not None:
            self._rewards[step] = reward, np.nan if error is None else error

    def reason(self, step: int) -> str | None:
        """Why the run ends after `step`; None where it goes on."""
        if self.name is None or step not in self._rewards or step >= self._steps:
            return None
        advice = rule.advise(self._curve(step), self._steps)
        return advice.reason if advice.obeys(self.name) else None

    def _curve(self, step: int) -> Curve:
        """The rows up to `step`; what lies behind a checkpoint is not known yet."""
        at = sorted(s for s in self._rewards if s <= step)
        pairs = np.array([self._rewards[s] for s in at]).reshape(-1, 2)
        entropy = [self._entropy[s] for s in sorted(self._entropy) if s <= step]
        steps = np.array(at, dtype=np.float64)
        return Curve(steps, pairs[:, 0], pairs[:, 1], np.array(entropy))

    def ended(self, where: str, step: int, reason: str) -> EarlyEnd:
        """The error that ends the run at `where` after `step`."""
        return EarlyEnd(
            f"{where}: step {step} of {self._steps}: ended by trainer.stop_when={self.name}: "
            f"{reason}; `harness resume {where}` goes on without the rule"
        )

    def record(self, step: int) -> dict[str, Any]:
        """The entry of run.json."""
        return {"rule": self.name, "step": step}
