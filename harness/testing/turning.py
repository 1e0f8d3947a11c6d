"""Runs with a turn at a known step, as in synthetic.py: H falls and then rises, R dies, rows are
corrupted, or H takes an irregular path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from harness.testing import synthetic
from harness.testing.synthetic import Floats, Noise, SyntheticRun


@dataclass(frozen=True)
class TurningRun:
    """A run whose H first falls, and rises from `log.onset` on."""

    log: SyntheticRun
    trough: float
    """The first step at which H without noise has its minimum."""


def _bend(u: Floats) -> Floats:
    """Return a log H that falls to log 0.25 at a decreasing rate."""
    return np.log(0.25 + 0.75 * np.exp(-u / 0.15))


def _leap(after: Floats, height: float, within: float) -> Floats:
    return height * np.minimum(after / within, 1.0)


RISES: dict[str, Callable[[Floats, float], Floats]] = {
    "falls, rises": lambda u, at: (
        -1.4 * np.minimum(u / at, 1) + _leap(_time_after(u, at), 1.8, 1 - at)
    ),
    "bends, rises": lambda u, at: _bend(u) + _leap(_time_after(u, at), 1.8, 1 - at),
    "bends, rises steeply": lambda u, at: _bend(u) + _leap(_time_after(u, at), 1.8, 0.225),
    "stays, rises": lambda u, at: (
        -1.4 * np.minimum(u / 0.15, 1) + _leap(_time_after(u, at), 1.8, 1 - at)
    ),
    "stays, leaps": lambda u, at: (
        -1.4 * np.minimum(u / 0.15, 1) + _leap(_time_after(u, at), 1.8, 0.02)
    ),
    "falls, leaps": lambda u, at: (
        -1.4 * np.minimum(u / at, 1) + _leap(_time_after(u, at), 1.8, 0.02)
    ),
    "falls, leaps, sinks": lambda u, at: (
        -1.4 * np.minimum(u / at, 1)
        + _leap(_time_after(u, at), 2.2, 0.03)
        - _time_after(u, at + 0.03)
    ),
    "stays, leaps by half": lambda u, at: (
        -np.minimum(u / 0.2, 1) + _leap(_time_after(u, at), 1.2, 0.05)
    ),
}
"""log H as a function of u in [0, 1) that rises from `at` on."""


def _time_after(u: Floats, at: float) -> Floats:
    return np.maximum(u - at, 0.0)


def rising_run(shape: str, seed: int, n: int, noise: Noise) -> TurningRun:
    """Return a run in which H falls, then rises from 30 to 80% of the run on; R follows the law."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    turn = rng.uniform(0.3, 0.8)
    log_h = RISES[shape](u, turn)
    log = synthetic.lawful(
        seed, n, noise, lambda _: np.exp(log_h), lambda h: synthetic.law(h, a=0.1, b=0.9)
    )
    lowest = int(np.argmax(log_h <= log_h.min() + 1e-9))
    return TurningRun(replace(log, onset=1 + turn * n), 1.0 + lowest)


DEATHS: dict[str, Callable[[Generator, int], Floats]] = {
    "0": lambda rng, rows: np.zeros(rows),
    "far below": lambda rng, rows: np.full(rows, -1.0),
    "0.02 with noise": lambda rng, rows: 0.02 + 0.008 * rng.normal(size=rows),
    "0 but for one row": lambda rng, rows: np.where(np.arange(rows) == 3, 0.5, 0.0),
}
"""The reward after its death."""


def dying_run(death: str, seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a lawful run whose R dies between 30 and 85% of the run, at step `onset`."""
    log, rng = synthetic.lawful(seed, n, noise), np.random.default_rng([seed, 1])
    row = int(rng.uniform(0.3, 0.85) * n)
    reward = np.append(log.reward[:row], DEATHS[death](rng, n - row))
    return replace(log, reward=reward, onset=1.0 + row)


def add_glitches(
    log: SyntheticRun, seed: int, value: float, burst: bool, share: float = 0.01
) -> SyntheticRun:
    """Return the log with H set to `value` in `share` of the rows, singly or in bursts.

    A burst has two or three rows.
    """
    rng, n = np.random.default_rng([seed, 2]), len(log.steps)
    entropy, remaining = log.entropy.copy(), max(1, round(share * n))
    while remaining > 0:
        rows = min(remaining, int(rng.integers(2, 4)) if burst else 1)
        start = rng.integers(0, n - rows + 1)
        entropy[start : start + rows] = value
        remaining -= rows
    return replace(log, entropy=entropy)


def _two_phases(u: Floats, rng: Generator) -> tuple[Floats, Floats]:
    """Return the share of the fall done if H falls and then stays, and if it stays and falls."""
    turn = rng.uniform(0.2, 0.8)
    return np.minimum(u / turn, 1), np.maximum((u - turn) / (1 - turn), 0.0)


PATHS: dict[str, Callable[[Floats, Generator], Floats]] = {
    "exponential": lambda u, rng: np.exp(-3 * u),
    "exponential to a floor": lambda u, rng: 0.5 + 0.5 * np.exp(-u / 0.25),
    "linear": lambda u, rng: 1 - 0.9 * u,
    "falls, then stays": lambda u, rng: 1 - 0.7 * _two_phases(u, rng)[0],
    "stays, then falls": lambda u, rng: 1 - 0.7 * _two_phases(u, rng)[1],
    "random": lambda u, rng: 0.8 * np.exp(0.6 * np.cumsum(rng.normal(size=len(u))) / len(u) ** 0.5),
}
"""H as a function of u in [0, 1)."""


def along(path: str, seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run that follows the law while H takes the given path."""
    h = PATHS[path](np.arange(n) / n, np.random.default_rng([seed, 3]))
    return synthetic.lawful(seed, n, noise, lambda _: h)
