"""Finished runs as stop rules see them, and what stopping them came to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from benchmarks.stop_rivals import Seen
from harness.stopping import curve as curves
from harness.stopping.curve import CurveStatistics, RewardCurve, RewardRange

Floats = NDArray[np.float64]
MOST_LOSS, BIG_LOSS, MOST_BIG = 0.01, 0.05, 0.05
SURE = 0.95
"""A constant is chosen by the upper bound, at this confidence, of its share of big losses: the best
of many constants is better on the runs it was chosen on than on others."""
PLAIN = "plain"


@dataclass(frozen=True)
class Run:
    """The rows of a finished run."""

    name: str
    kind: str
    seen: Seen

    def until(self, count: int) -> Seen:
        """The rows up to evaluation `count`, from 1."""
        last = int(self.seen.eval_step[count - 1])
        rows = self.seen.step <= last
        return replace(
            self.seen,
            step=self.seen.step[rows],
            entropy=self.seen.entropy[rows],
            variance=self.seen.variance[rows],
            eval_step=self.seen.eval_step[:count],
            reward=self.seen.reward[:count],
        )

    def curve(self, count: int) -> RewardCurve:
        seen = self.until(count)
        return RewardCurve(seen.eval_step, seen.reward, seen.entropy)

    def reading(self, count: int) -> CurveStatistics:
        """The numbers of the rule after evaluation `count`."""
        read = curves.summarise(self.curve(count), self.seen.steps, RewardRange())
        assert isinstance(read, CurveStatistics)
        return read

    @property
    def seed(self) -> str:
        """From the file's name: 2000000-easy-..., or study-...-seed31."""
        return self.name.rsplit("seed", 1)[-1].split("-")[0]

    @property
    def evaluations(self) -> int:
        return len(self.seen.reward)

    def gain(self, count: int) -> float:
        """Last evaluation less that of number `count`."""
        return float(self.seen.reward[-1] - self.seen.reward[count - 1])

    def saved(self, count: int) -> float:
        """Share of the steps that a stop at evaluation `count` saves."""
        return 1 - float(self.seen.eval_step[count - 1]) / self.seen.steps


def load(folders: Sequence[Path], kind: str = PLAIN) -> list[Run]:
    """The whole runs of a kind; those that diverged are counted on stderr."""
    runs, short = [], 0
    for path in sorted(p for folder in folders for p in folder.glob("*.npz")):
        with np.load(path) as held:
            arrays = {name: held[name] for name in held.files}
        if not str(arrays["kind"]).startswith(kind):
            continue
        if arrays["step"][-1] < arrays["steps"]:
            short += 1
            continue
        at = np.isfinite(arrays["eval_reward"])
        seen = Seen(
            arrays["step"], arrays["entropy"], arrays["reward_std"] ** 2, arrays["step"][at],
            arrays["eval_reward"][at], int(arrays["steps"]),
        )  # fmt: skip
        runs.append(Run(path.stem, str(arrays["kind"]), seen))
    if short:
        print(f"{short} runs ended before their last step and are left out", file=sys.stderr)
    return runs


@dataclass(frozen=True)
class Outcome:
    """What stopping runs at given evaluations came to."""

    saved: float
    lost: float
    lost_above_0: float
    big: float
    stopped: float

    @staticmethod
    def of(runs: Sequence[Run], stops: Sequence[int]) -> Outcome:
        pairs = list(zip(runs, stops, strict=True))
        losses = np.array([run.gain(count) for run, count in pairs])
        return Outcome(
            float(np.mean([run.saved(count) for run, count in pairs])),
            float(losses.mean()),
            float(np.maximum(losses, 0).mean()),
            float((losses > BIG_LOSS).mean()),
            float(np.mean([count < run.evaluations for run, count in pairs])),
        )

    def keeps(self) -> bool:
        return self.lost <= MOST_LOSS and self.big <= MOST_BIG

    def most_big(self, runs: int) -> float:
        """Upper bound of the share of big losses among runs like these, by their number."""
        count = round(self.big * runs)
        return float(beta.ppf(SURE, count + 1, runs - count))

    def row(self, name: str) -> str:
        kept = "yes" if self.keeps() else "no"
        return (
            f"| {name} | {self.stopped:.0%} | {self.saved:.1%} | {self.lost:+.4f} | "
            f"{self.lost_above_0:.4f} | {self.big:.1%} | {kept} |"
        )
