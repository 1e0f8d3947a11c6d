"""Runs of (H, R) whose law, onset and noise are known, to hold the law stage to the truth.

H* is a course in time times a slow wander; R follows the law of H* (or breaks it); what is
logged is H* and R with noise on both, autocorrelated, R's as large as a mean over 64
conversations gives.
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
"""R is a mean over so many a step."""


@dataclass(frozen=True)
class Noise:
    """Of H (relative) and R, both AR(1)."""

    rho: float
    sigma_h: float
    wander: float = 0.05


NONE = Noise(0.0, 0.0)
LOW = Noise(0.5, 0.05, 0.05)
HIGH = Noise(0.9, 0.15, 0.10)


@dataclass(frozen=True)
class Log:
    """What a run logged. Arrays of shape (n,)."""

    steps: Floats
    entropy: Floats
    reward: Floats
    onset: float | None = None
    """True step at which H begins to fall for good, where there is one."""
    silent: Floats | None = None
    """Share of the groups without a signal, where the log holds it."""


def ar1(rng: Generator, n: int, rho: float) -> Floats:
    """A stationary AR(1) of unit variance."""
    shocks = rng.normal(size=n) * (1 - rho**2) ** 0.5
    start = rng.normal() * rho
    result: Floats = signal.lfilter([1.0], [1.0, -rho], shocks, zi=[start])[0]
    return result


def law(h: Floats, a: float = TRUE_A, b: float = TRUE_B) -> Floats:
    return b - a * np.exp(h)


def exponential(end: float, start: float = 1.0) -> Callable[[Floats], Floats]:
    """From `start` to about the share `end` of it, with a time constant of a quarter of the run."""
    return lambda u: start * (end + (1 - end) * np.exp(-u / 0.25))


def lawful(
    seed: int,
    n: int,
    noise: Noise,
    course: Callable[[Floats], Floats] | None = None,
    follows: Callable[[Floats], Floats] = law,
) -> Log:
    """A run whose R follows H from its first step to its last, by the law unless told otherwise."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, (course or exponential(0.05))(u), noise)
    return _logged(rng, h, follows(h), noise)


def kink(
    seed: int,
    n: int,
    noise: Noise,
    fall: float = 12.0,
    post: float = -0.15,
    at: float | None = None,
) -> Log:
    """Lawful until `at`, a share of the run, or about its middle; then log H falls by `fall` a run
    and R moves by `post`. Above 1 it is lawful to its end.
    """
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    drawn = rng.uniform(0.4, 0.65)
    at = drawn if at is None else at
    skeleton = np.exp(-0.8 * u - fall * np.maximum(u - at, 0.0))
    h = _wandering(rng, np.maximum(skeleton, 0.01), noise)
    before = law(h)
    held = before[u < at][-max(1, n // 20) :].mean()
    mean = np.where(u < at, before, held + post * (u - at) / (1 - at))
    log = _logged(rng, h, mean, noise)
    return Log(log.steps, log.entropy, log.reward, onset=1 + at * n if at < 1 else None)


def hack(seed: int, n: int, noise: Noise) -> Log:
    """H sinks to 40%, and half way R turns from the law and falls."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, exponential(0.4)(u), noise)
    return _logged(rng, h, law(h) - 0.5 * np.maximum(u - 0.5, 0.0), noise)


def explode(seed: int, n: int, noise: Noise) -> Log:
    """H sinks to about a third, then rises fivefold over the last third."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    skeleton = exponential(0.3)(u) * np.exp(5.0 * np.maximum(u - 0.67, 0.0))
    h = _wandering(rng, skeleton, noise)
    log = _logged(rng, h, law(h), noise)
    return Log(log.steps, log.entropy, log.reward, onset=1 + 0.67 * n)


def explode_and_level(seed: int, n: int, noise: Noise) -> Log:
    """H keeps 1 for half of the run, then rises and settles at 3."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    skeleton = 1 + 2 * -np.expm1(-np.maximum(u - 0.5, 0.0) / 0.1)
    h = _wandering(rng, skeleton, noise)
    log = _logged(rng, h, law(h), noise)
    return Log(log.steps, log.entropy, log.reward, onset=1 + 0.5 * n)


def unrelated(seed: int, n: int, noise: Noise) -> Log:
    """H decays; R stays where it is."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, exponential(0.05)(u), noise)
    return _logged(rng, h, np.full(n, 0.5), noise)


def flat(seed: int, n: int, noise: Noise) -> Log:
    """H keeps its level but for the wander, and R neither rises nor falls."""
    rng = np.random.default_rng(seed)
    h = _wandering(rng, np.full(n, 0.8), noise)
    return _logged(rng, h, np.full(n, 0.5), noise)


def drift(seed: int, n: int, noise: Noise) -> Log:
    """The law, and a reward that rises past it, by 0.1 over the run, whatever H does."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, exponential(0.05)(u), noise)
    return _logged(rng, h, law(h) + 0.1 * (u - 0.5), noise)


def starved(seed: int, n: int, noise: Noise) -> Log:
    """Seven groups in ten teach nothing: R stays near 0, H loses a twentieth."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, 1 - 0.05 * u, noise)
    log = _logged(rng, h, np.full(n, 0.05), noise)
    silent = np.clip(0.7 + 0.1 * ar1(rng, n, noise.rho), 0.0, 1.0)
    return replace(log, silent=silent)


def constant(seed: int, n: int, noise: Noise) -> Log:
    """H the same number at every step, while R rises."""
    rng = np.random.default_rng(seed)
    return _logged(rng, np.full(n, 0.8), 0.4 + 0.3 * np.arange(n) / n, Noise(noise.rho, 0.0))


def wrong_sign(seed: int, n: int, noise: Noise) -> Log:
    """R falls as H falls."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, exponential(0.05)(u), noise)
    return _logged(rng, h, law(h, a=-0.2, b=0.1), noise)


def random_walk(seed: int, n: int, noise: Noise) -> Log:
    """H and R walk on their own."""
    rng = np.random.default_rng(seed)
    walk_h, walk_r = np.cumsum(rng.normal(size=(2, n)), axis=1) / n**0.5
    h = _wandering(rng, 0.8 * np.exp(0.6 * walk_h), noise)
    return _logged(rng, h, np.clip(0.5 + 0.12 * walk_r, 0.02, 0.98), noise)


def saturating(seed: int, n: int, noise: Noise) -> Log:
    """H falls in a line to 45%; R saturates within the first third, whatever H does."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = _wandering(rng, 1 - 0.55 * u, noise)
    return _logged(rng, h, 0.4 + 0.35 * (1 - np.exp(-u / 0.1)), noise)


def _wandering(rng: Generator, skeleton: Floats, noise: Noise) -> Floats:
    return skeleton * np.exp(noise.wander * ar1(rng, len(skeleton), WANDER_RHO))


def _logged(rng: Generator, h: Floats, mean: Floats, noise: Noise) -> Log:
    n = len(h)
    sampling = np.clip(0.64 * mean * (1 - mean), 0.0, None) / CONVERSATIONS
    sd = np.sqrt(sampling + 0.015**2)
    seen = h * np.exp(noise.sigma_h * ar1(rng, n, noise.rho))
    return Log(np.arange(1.0, n + 1), seen, mean + sd * ar1(rng, n, noise.rho))


def rows(log: Log, **more: Any) -> list[dict[str, Any]]:
    """The rows of a metrics.jsonl with the keys that any program writes."""
    columns = zip(log.steps, log.entropy, log.reward, strict=True)
    return [{"step": int(s), "entropy": h, "reward": r, **more} for s, h, r in columns]


def lawful_rows(seed: int = 1, n: int = 200) -> list[dict[str, Any]]:
    """Of a run that follows the law, with little noise."""
    return rows(lawful(seed, n, LOW))


def evaluated(
    lines: Sequence[Mapping[str, Any]], level: str = "", every: int = 10, **columns: Any
) -> list[dict[str, Any]]:
    """The rows with `eval/LEVEL/X` for each X of `columns`, or `eval/X` without a level: the value
    where a step is evaluated, which is every `every`-th from the first on, else None.
    """
    prefix = f"eval/{level}" if level else "eval"
    return [
        {**line, **{f"{prefix}/{x}": v if n % every == 0 else None for x, v in columns.items()}}
        for n, line in enumerate(lines)
    ]
