"""Does a logged standard error of H make a better estimate of a than the instrument alone?

    python -m benchmarks.entropy_se [runs per cell]

Runs that follow the law, their H seen with Gaussian noise of known standard error. Compared:
the instrument, as the law stage fits it; the same on exp(H - se^2 / 2), which takes off by the
standard error what the stage takes off by H itself; and least squares with the noise variance
taken off (errors in variables with known variance: Fuller 1987, section 1.2), with and without
spikes pulled in.
Prints a Markdown table; benchmarks/entropy_se.md holds a dated result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.law.estimate import identifiability, spikes
from harness.law.estimate.interval import half_width
from harness.law.io.clean import Points
from harness.law.results import Floats
from harness.testing import synthetic
from harness.testing.synthetic import TRUE_A, TRUE_CEILING, Noise

FIRST_SEED = 2_000_000
SPIKES = 0.03
BLOCKS = 8


@dataclass(frozen=True)
class Seen:
    """A run with the standard error of each H. Arrays have shape (n,)."""

    entropy: Floats
    se: Floats
    reward: Floats


@dataclass(frozen=True)
class Estimate:
    """a and the ceiling, with half-widths of their 95% intervals."""

    a: float
    ceiling: float
    half_a: float
    half_ceiling: float


def seen(seed: int, n: int, rho: float, relative_se: float, spikes: float) -> Seen:
    """H decays to 5%; its noise has a standard error of `relative_se` of H, R's is that of LOW."""
    true = synthetic.lawful(seed, n, Noise(0.5, 0.0))
    rng = np.random.default_rng([seed, 1])
    se = relative_se * true.entropy
    entropy = np.maximum(true.entropy + se * synthetic.ar1(rng, n, rho), 0.0)
    reward = true.reward.copy()
    entropy[rng.choice(n, int(spikes * n), replace=False)] *= 3
    reward[rng.choice(n, int(spikes * n), replace=False)] -= 0.4
    return Seen(entropy, se, reward)


def instrument(run: Seen) -> Estimate | None:
    return _by_instrument(run.entropy, run.reward)


def less_convexity(run: Seen) -> Estimate | None:
    """exp(H + e) is exp(H) exp(se^2 / 2) on average."""
    return _by_instrument(run.entropy - run.se**2 / 2, run.reward)


def known_variance(run: Seen) -> Estimate | None:
    return _less_noise(run.entropy, run.se, run.reward)


def known_variance_no_spikes(run: Seen) -> Estimate | None:
    still = spikes.without_spikes
    return _less_noise(still(run.entropy), run.se, still(run.reward))


def _by_instrument(entropy: Floats, reward: Floats) -> Estimate | None:
    spread = identifiability.fit(Points(np.arange(1.0, len(entropy) + 1), entropy, reward)).spread
    if spread is None or spread.n_eff < identifiability.FEWEST_EFFECTIVE:
        return None
    halves = half_width(spread.a), half_width(spread.ceiling)
    return Estimate(spread.a.value, spread.ceiling.value, *halves)


def _less_noise(entropy: Floats, se: Floats, reward: Floats) -> Estimate | None:
    """Slope S_xy / (S_xx - sum of noise variances); jackknife over blocks of time."""
    x = np.exp(entropy - se**2 / 2)
    noise = x**2 * np.expm1(se**2)
    block = np.arange(len(x)) * BLOCKS // len(x)
    whole = _corrected(x, noise, reward)
    kept = [block != g for g in range(BLOCKS)]
    without = [_corrected(x[k], noise[k], reward[k]) for k in kept]
    fits = [fit for fit in without if fit is not None]
    if whole is None or len(fits) < len(without):
        return None
    spread = np.array(fits) - np.mean(fits, axis=0)
    errors = np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0))
    halves = float(stats.t.ppf(0.975, BLOCKS - 1)) * errors
    return Estimate(*whole, float(halves[0]), float(halves[1]))


def _corrected(x: Floats, noise: Floats, reward: Floats) -> tuple[float, float] | None:
    """a and the ceiling; None where noise is all there is."""
    centred = x - x.mean()
    left = float(centred @ centred - noise.sum())
    if left <= 0:
        return None
    a = -float(centred @ reward) / left
    return a, float(reward.mean() + a * x.mean() - a)


WAYS: dict[str, Callable[[Seen], Estimate | None]] = {
    "instrument": instrument,
    "instrument, less convexity": less_convexity,
    "known variance": known_variance,
    "known variance, no spikes": known_variance_no_spikes,
}
CELLS = {
    "n50 rho0 se15%": (50, 0.0, 0.15, 0.0),
    "n200 rho0 se15%": (200, 0.0, 0.15, 0.0),
    "n200 rho.5 se15%": (200, 0.5, 0.15, 0.0),
    "n1000 rho0 se15%": (1000, 0.0, 0.15, 0.0),
    "n1000 rho0 se2%": (1000, 0.0, 0.02, 0.0),
    "n1000 rho0 se15% spikes": (1000, 0.0, 0.15, SPIKES),
}


def row(found: list[Estimate]) -> str:
    a = 100 * (np.array([e.a for e in found]) / TRUE_A - 1)
    held_a = np.mean([abs(e.a - TRUE_A) <= e.half_a for e in found])
    held_c = np.mean([abs(e.ceiling - TRUE_CEILING) <= e.half_ceiling for e in found])
    half = 100 * np.median([e.half_a for e in found]) / TRUE_A
    rmse = (a**2).mean() ** 0.5
    return f"{a.mean():+.1f} | {rmse:.1f} | {100 * held_a:.1f} | {half:.1f} | {100 * held_c:.1f}"


def main(runs: int) -> None:
    print("| cell | way | a bias % | a rmse % | a covered % | a half-width % | ceiling covered % |")
    print("|---|---|---|---|---|---|---|")
    for name, cell in CELLS.items():
        logs = [seen(FIRST_SEED + seed, *cell) for seed in range(runs)]
        for way, estimated in WAYS.items():
            estimates = [e for e in map(estimated, logs) if e is not None]
            print(f"| {name} | {way} | {row(estimates)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
