"""Rules that others stop training by, each on the same rows as ours: benchmarks/stop_advice.md.

A rule is asked after every evaluation and sees the rows up to it. `at` is its published constant;
`choices` are those from which the best on development runs is taken, so that no rule loses for a
constant that was meant for other rewards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import curve_fit

Floats = NDArray[np.float64]
MOST_LOSS = 0.01


@dataclass(frozen=True)
class Seen:
    """The rows of a run up to an evaluation."""

    step: Floats
    entropy: Floats
    variance: Floats
    """Squared standard deviation of the reward within groups, by step."""
    eval_step: Floats
    reward: Floats
    """Of the evaluations."""
    steps: int
    """Planned in all."""

    @property
    def share(self) -> float:
        """Share of the run that is over."""
        return float(self.eval_step[-1]) / self.steps

    @property
    def was(self) -> float:
        """That share at the evaluation before."""
        return float(self.eval_step[-2]) / self.steps if len(self.eval_step) > 1 else 0.0


@dataclass(frozen=True)
class Rival:
    """A rule with one constant."""

    name: str
    stops: Callable[[Seen, float], bool]
    at: float
    choices: tuple[float, ...]


def reward_variance(seen: Seen, share: float) -> bool:
    """RAGEN-2: the variance of the reward within groups is below a share of its start."""
    start, now = seen.variance[:10].mean(), seen.variance[-10:].mean()
    return len(seen.variance) >= 20 and bool(now < share * start)


def low_entropy(seen: Seen, nats: float) -> bool:
    """rlwatch: H below a constant for 50 steps."""
    return len(seen.entropy) >= 50 and bool((seen.entropy[-50:] < nats).all())


def entropy_floor(seen: Seen, share: float) -> bool:
    """rldoctor: H below a share of its start."""
    return bool(seen.entropy[-1] < share * seen.entropy[0])


def no_gain(seen: Seen, evaluations: float) -> bool:
    """Last value, or patience: no evaluation of the last so many is above the best before them."""
    last = int(evaluations)
    return len(seen.reward) > last and bool(seen.reward[-last:].max() <= seen.reward[:-last].max())


def sigmoid(seen: Seen, at: float) -> bool:
    """ScaleRL: at a share of the run, the asymptote of a sigmoid in log step is reached."""
    if not seen.was < at <= seen.share or len(seen.reward) < 5:
        return False
    first = float(seen.reward[0])

    def curve(x: Floats, gain: float, exponent: float, middle: float) -> Floats:
        bounded = np.clip(exponent * (middle - np.log(x)), -50, 50)
        return first + gain / (1 + np.exp(bounded))

    half = float(np.log(np.median(seen.eval_step)))
    limits = ([-1.0, 0.1, 0.0], [1.0, 10.0, float(np.log(10 * seen.steps))])
    start = (max(float(seen.reward[-1]) - first, 0.01), 1.0, half)
    try:
        (gain, _, _), _ = curve_fit(curve, seen.eval_step, seen.reward, start, bounds=limits)
    except (RuntimeError, ValueError):
        return False
    return bool(first + gain - seen.reward[-5:].mean() <= MOST_LOSS)


def law(seen: Seen, at: float) -> bool:
    """The entropy law at a share of the run: R is within the tolerance of its ceiling b - a."""
    if not seen.was < at <= seen.share or len(seen.reward) < 5:
        return False
    h = np.array([seen.entropy[max(0, int(s) - 10) : int(s)].mean() for s in seen.eval_step])
    slope, height = np.polyfit(np.exp(h), seen.reward, 1)
    return bool(slope + height - seen.reward[-5:].mean() <= MOST_LOSS)


RIVALS = (
    Rival("reward variance below 10% of its start (RAGEN-2)", reward_variance, 0.1,
          (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)),
    Rival("H below 1.0 for 50 steps (rlwatch)", low_entropy, 1.0,
          (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)),
    Rival("H below 10% of its start (rldoctor)", entropy_floor, 0.1,
          (0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)),
    Rival("no gain over the last 3 evaluations", no_gain, 3, (2, 3, 4, 5, 6, 7, 8, 10, 12)),
    Rival("a sigmoid at half (ScaleRL)", sigmoid, 0.5, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
    Rival("the law at 36%", law, 0.36, (0.2, 0.36, 0.5, 0.6, 0.7, 0.8, 0.9)),
)  # fmt: skip
