"""Synthetic runs for the test of fit: laws that hold, and rewards that only resemble one.

In contrast to synthetic.py, H wanders with a memory of a fifth of the run, R's noise does not
depend on R, and the step of a change is random. The list consists of runs that a law stage without
a test of fit mistakes for "holds".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from harness.testing.synthetic import Floats, SyntheticRun, ar1

A, B = 0.25, 0.95
"""The true law: R is .27 at H = 1 and .70 at H = 0."""
CEILING = B - A


@dataclass(frozen=True)
class ScatterNoise:
    """Noise of a log, AR(1): of H relative to H, of R in units of reward."""

    rho: float
    h: float
    r: float


USUAL = ScatterNoise(0.5, 0.05, 0.02)
SMALL_BATCH = ScatterNoise(0.3, 0.08, 0.05)
STICKY = ScatterNoise(0.9, 0.10, 0.02)
"""AR(1) with coefficient .9 on H and R."""
SCATTERS = {"usual": USUAL, "small batch": SMALL_BATCH, "sticky": STICKY}

Path = Callable[[Floats], Floats]
"""Share of the run done, shape (n,) -> H in nats without wander and noise."""


def early(u: Floats) -> Floats:
    """From 1 to .1; three quarters of the fall are in the first twelfth."""
    return 0.1 + 0.9 * 4.0 ** (-12 * u)


def even(u: Floats) -> Floats:
    """From 1 to .05, exponentially."""
    return 0.05 + 0.95 * np.exp(-4 * u)


def line(u: Floats) -> Floats:
    """From 1 to .15, linearly."""
    return 1 - 0.85 * u


def late(u: Floats) -> Floats:
    """From 1 to .2; most of the fall is around two thirds of the run."""
    return 0.2 + 0.8 / (1 + np.exp((u - 0.65) * 14))


def stairs(u: Floats) -> Floats:
    """From 1 to .15 in two falls with a plateau between."""
    first, second = (1 / (1 + np.exp((u - centre) * 40)) for centre in (0.2, 0.75))
    return 0.15 + 0.45 * first + 0.4 * second


def half(u: Floats) -> Floats:
    """From 1 to .5."""
    return 0.5 + 0.5 * np.exp(-4 * u)


def slight(u: Floats) -> Floats:
    """From .3 to .2, so that exp(H) hardly changes."""
    return 0.2 + 0.1 * np.exp(-4 * u)


def high(u: Floats) -> Floats:
    """From 1.9 to 1.2."""
    return 1.2 + 0.7 * np.exp(-3 * u)


def deep(u: Floats) -> Floats:
    """From 1.8 to .1."""
    return 0.1 + 1.7 * np.exp(-3.5 * u)


PATHS: dict[str, Path] = {f.__name__: f for f in (early, even, line, late, stairs, half, slight)}


def law(h: Floats) -> Floats:
    """Return B - A exp(h)."""
    return B - A * np.exp(h)


@dataclass(frozen=True)
class _RewardInputs:
    """Inputs of a run's reward; arrays of shape (n,)."""

    u: Floats
    """Share of the run done."""
    h: Floats
    """True H."""
    rng: Generator

    def at(self, low: float = 0.3, high: float = 0.7) -> float:
        """Return a random share of the run."""
        return float(self.rng.uniform(low, high))


Reward = Callable[[_RewardInputs], Floats]
"""The reward without noise, shape (n,)."""


def lawful(run: _RewardInputs) -> Floats:
    return law(run.h)


def jumps_up(run: _RewardInputs) -> Floats:
    """The law, raised by .15 from some step on."""
    return law(run.h) + 0.15 * (run.u >= run.at())


def drops(run: _RewardInputs) -> Floats:
    """The law, lowered by .15 from some step on."""
    return law(run.h) - 0.15 * (run.u >= run.at())


def floor(run: _RewardInputs) -> Floats:
    """The law, but never below a quantile of its values, between the 30% and the 50% one."""
    value = np.quantile(law(run.h), run.at(0.3, 0.5))
    return np.maximum(law(run.h), value)


def cap(run: _RewardInputs) -> Floats:
    """The law, but never above a quantile of its values, between the 30% and the 50% one."""
    value = np.quantile(law(run.h), run.at(0.3, 0.5))
    return np.minimum(law(run.h), value)


def lags(run: _RewardInputs) -> Floats:
    """The law of H a tenth of the run earlier."""
    lag = max(1, len(run.h) // 10)
    return law(np.concatenate([np.full(lag, run.h[0]), run.h[:-lag]]))


def by_step(run: _RewardInputs) -> Floats:
    """A curve that depends only on the step."""
    return 0.27 + 0.4 * -np.expm1(-4 * run.u)


def plateau(run: _RewardInputs) -> Floats:
    """The law up to some step, then constant while H continues to fall."""
    index = int(len(run.u) * run.at(0.2, 0.5))
    rewards = law(run.h)
    return np.concatenate([rewards[:index], np.full(len(rewards) - index, rewards[index])])


def rises_in_a_line(run: _RewardInputs) -> Floats:
    """Rises linearly over the whole run, independently of H."""
    return 0.3 + 0.35 * run.u


def linear_in_h(run: _RewardInputs) -> Floats:
    """Linear in H, with the law's values at the largest and the smallest H."""
    low, top = float(run.h.min()), float(run.h.max())
    slope = (law(np.array(low)) - law(np.array(top))) / (top - low)
    return np.asarray(law(np.array(top)) + slope * (top - run.h))


FORMS: dict[str, tuple[Reward, float]] = {
    "exp(H)": (lawful, CEILING),
    "H": (lambda run: 0.75 - 0.35 * run.h, 0.75),
    "log(1 + H)": (lambda run: 0.75 - 0.45 * np.log1p(run.h), 0.75),
}
"""Functions of H, and the reward of each at H = 0."""


def bounces(u: Floats) -> Floats:
    """From 1 to .05 exponentially, with a temporary rise of .24 around 60% of the run."""
    return even(u) + 0.24 * np.exp(-(((u - 0.6) / 0.12) ** 2))


def fast(u: Floats) -> Floats:
    """From 1 to .05, almost all within the first third."""
    return 0.05 + 0.95 * np.exp(-12 * u)


MISFITS: dict[str, tuple[Path, Reward]] = {
    "jump up": (even, jumps_up),
    "drop": (even, drops),
    "floor": (line, floor),
    "cap": (line, cap),
    "lag": (late, lags),
    "bounce": (bounces, by_step),
    "plateau": (line, plateau),
    "line beside spent H": (fast, rises_in_a_line),
}
"""Runs that follow no law: path of H, reward."""


def make(seed: int, n: int, path: Path, reward: Reward, scatter: ScatterNoise) -> SyntheticRun:
    """Return the log of one run of n steps."""
    rng = np.random.default_rng([seed, n])
    u = np.arange(n) / n
    wander = ar1(rng, n, 1 - 1 / (0.2 * n))
    h = path(u) * np.exp(0.05 * (wander - wander[0]))
    logged_h = h * np.exp(scatter.h * ar1(rng, n, scatter.rho))
    true_reward = reward(_RewardInputs(u, h, rng))
    return SyntheticRun(
        np.arange(1.0, n + 1), logged_h, true_reward + scatter.r * ar1(rng, n, scatter.rho)
    )
