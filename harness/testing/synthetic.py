"""Runs of (H, R) with known law, onset and noise, to test the law stage against the truth.

The true H is a function of time multiplied by a slow random wander. R follows the law of the true
H, or violates it. Both are logged with autocorrelated noise; R's is as large as that of a mean over
64 conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import signal

Floats = NDArray[np.float64]

TRUE_A, TRUE_B = 0.3, 1.1
TRUE_CEILING = TRUE_B - TRUE_A
WANDER_RHO = 0.98
CONVERSATIONS = 64
"""Number of conversations per step that R is a mean over."""


@dataclass(frozen=True)
class Noise:
    """Noise of H (relative) and R, both AR(1)."""

    rho: float
    sigma_h: float
    wander: float = 0.05


NONE = Noise(0.0, 0.0)
LOW = Noise(0.5, 0.05, 0.05)
HIGH = Noise(0.9, 0.15, 0.10)


@dataclass(frozen=True)
class SyntheticRun:
    """The log of a run; arrays of shape (n,)."""

    steps: Floats
    entropy: Floats
    reward: Floats
    onset: float | None = None
    """True step of the onset: H begins its final fall or its rise, or R dies. None without one."""
    silent: Floats | None = None
    """Share of the groups without a signal; None if not logged."""


def ar1(rng: Generator, n: int, rho: float) -> Floats:
    """Return a stationary AR(1) series of unit variance."""
    shocks = rng.normal(size=n) * (1 - rho**2) ** 0.5
    start = rng.normal() * rho
    result: Floats = signal.lfilter([1.0], [1.0, -rho], shocks, zi=[start])[0]
    return result


def law(h: Floats, a: float = TRUE_A, b: float = TRUE_B) -> Floats:
    return b - a * np.exp(h)


def exponential(end: float, start: float = 1.0) -> Callable[[Floats], Floats]:
    """Return a decay from `start` to `start * end`; its time constant is 1/4 of the run."""
    return lambda u: start * (end + (1 - end) * np.exp(-u / 0.25))


def lawful(
    seed: int,
    n: int,
    noise: Noise,
    course: Callable[[Floats], Floats] | None = None,
    follows: Callable[[Floats], Floats] = law,
) -> SyntheticRun:
    """Return a run in which R follows H from first to last step, according to `follows`."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, (course or exponential(0.05))(u), noise)
    return _log(rng, h, follows(h), noise)


def kink(
    seed: int,
    n: int,
    noise: Noise,
    fall: float = 12.0,
    post: float = -0.15,
    at: float | None = None,
) -> SyntheticRun:
    """Return a lawful run up to `at`, where log H begins to fall steeply and R leaves the law.

    `at`: share of the run, by default random around its middle; above 1 the run is lawful to its
    end. `fall`: fall of log H per run; `post`: change of R from `at` to the end.
    """
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    random_at = rng.uniform(0.4, 0.65)
    at = random_at if at is None else at
    skeleton = np.exp(-0.8 * u - fall * np.maximum(u - at, 0.0))
    h = _wander(rng, np.maximum(skeleton, 0.01), noise)
    by_law = law(h)
    level = by_law[u < at][-max(1, n // 20) :].mean()
    mean = np.where(u < at, by_law, level + post * (u - at) / (1 - at))
    log = _log(rng, h, mean, noise)
    return SyntheticRun(log.steps, log.entropy, log.reward, onset=1 + at * n if at < 1 else None)


def hack(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H falls to 40% and R leaves the law half way and falls."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, exponential(0.4)(u), noise)
    return _log(rng, h, law(h) - 0.5 * np.maximum(u - 0.5, 0.0), noise)


def explode(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H falls to about a third and rises fivefold over the last third."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    skeleton = exponential(0.3)(u) * np.exp(5.0 * np.maximum(u - 0.67, 0.0))
    h = _wander(rng, skeleton, noise)
    log = _log(rng, h, law(h), noise)
    return SyntheticRun(log.steps, log.entropy, log.reward, onset=1 + 0.67 * n)


def explode_and_level(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H stays at 1 for half of the run, then rises and levels off at 3."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    skeleton = 1 + 2 * -np.expm1(-np.maximum(u - 0.5, 0.0) / 0.1)
    h = _wander(rng, skeleton, noise)
    log = _log(rng, h, law(h), noise)
    return SyntheticRun(log.steps, log.entropy, log.reward, onset=1 + 0.5 * n)


def unrelated(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H decays and R is constant."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, exponential(0.05)(u), noise)
    return _log(rng, h, np.full(n, 0.5), noise)


def flat(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H and R neither rise nor fall."""
    rng = np.random.default_rng(seed)
    h = _wander(rng, np.full(n, 0.8), noise)
    return _log(rng, h, np.full(n, 0.5), noise)


def drift(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a lawful run whose R also rises by 0.1 over the run independently of H."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, exponential(0.05)(u), noise)
    return _log(rng, h, law(h) + 0.1 * (u - 0.5), noise)


def starved(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which 7 of 10 groups have no signal: R stays near 0, H falls by 5%."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, 1 - 0.05 * u, noise)
    log = _log(rng, h, np.full(n, 0.05), noise)
    silent = np.clip(0.7 + 0.1 * ar1(rng, n, noise.rho), 0.0, 1.0)
    return replace(log, silent=silent)


def constant(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H is the same number at every step and R rises."""
    rng = np.random.default_rng(seed)
    return _log(rng, np.full(n, 0.8), 0.4 + 0.3 * np.arange(n) / n, Noise(noise.rho, 0.0))


def wrong_sign(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which R falls as H falls."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, exponential(0.05)(u), noise)
    return _log(rng, h, law(h, a=-0.2, b=0.1), noise)


def random_walk(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H and R are independent random walks."""
    rng = np.random.default_rng(seed)
    walk_h, walk_r = np.cumsum(rng.normal(size=(2, n)), axis=1) / n**0.5
    h = _wander(rng, 0.8 * np.exp(0.6 * walk_h), noise)
    return _log(rng, h, np.clip(0.5 + 0.12 * walk_r, 0.02, 0.98), noise)


def saturating(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a run in which H falls linearly to 45%, while R saturates within the first third."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wander(rng, 1 - 0.55 * u, noise)
    return _log(rng, h, 0.4 + 0.35 * (1 - np.exp(-u / 0.1)), noise)


def _wander(rng: Generator, skeleton: Floats, noise: Noise) -> Floats:
    return skeleton * np.exp(noise.wander * ar1(rng, len(skeleton), WANDER_RHO))


def _log(rng: Generator, h: Floats, mean: Floats, noise: Noise) -> SyntheticRun:
    n = len(h)
    sampling = np.clip(0.64 * mean * (1 - mean), 0.0, None) / CONVERSATIONS
    sd = np.sqrt(sampling + 0.015**2)
    logged_h = h * np.exp(noise.sigma_h * ar1(rng, n, noise.rho))
    return SyntheticRun(np.arange(1.0, n + 1), logged_h, mean + sd * ar1(rng, n, noise.rho))


def rows(log: SyntheticRun, **extra: Any) -> list[dict[str, Any]]:
    """Return the rows of a metrics.jsonl, with the keys that all programs write."""
    columns = zip(log.steps, log.entropy, log.reward, strict=True)
    return [{"step": int(s), "entropy": h, "reward": r, **extra} for s, h, r in columns]


def lawful_rows(seed: int = 1, n: int = 200) -> list[dict[str, Any]]:
    """Return the rows of a run that follows the law, with little noise."""
    return rows(lawful(seed, n, LOW))


def evaluated(
    lines: Sequence[Mapping[str, Any]], level: str = "", every: int = 10, **columns: Any
) -> list[dict[str, Any]]:
    """Return the rows with `eval/LEVEL/X` for each X of `columns`, or `eval/X` without a level.

    Every `every`-th row from the first on has the value, as an evaluated step has; others have
    None.
    """
    prefix = f"eval/{level}" if level else "eval"
    return [
        {**line, **{f"{prefix}/{x}": v if n % every == 0 else None for x, v in columns.items()}}
        for n, line in enumerate(lines)
    ]
