"""Cells of runs with known a, b and onset (synthetic.py), and the law stage's results on them.

Functions take a cell's name rather than its maker, so that they can be called in another process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.law import verdict as verdict
from harness.law.estimate import identifiability, onset, regime
from harness.law.estimate.interval import half_width
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnSeries
from harness.law.results import Interval, Onset
from harness.testing import synthetic
from harness.testing.synthetic import HIGH, LOW, Floats, Noise, SyntheticRun

Make = Callable[[int, int, Noise], SyntheticRun]
FIRST_SEED = 1_000_000
"""Far from the seeds on which the rules were developed."""


def _decay_to(end: float, start: float = 1.0) -> Make:
    course = synthetic.exponential(end, start)
    return lambda seed, n, noise: synthetic.lawful(seed, n, noise, course)


def _rising_maker(course: Callable[[Floats], Floats], follows: Callable[[Floats], Floats]) -> Make:
    """Return a maker of runs whose H rises from the first step, which is the true onset."""
    return lambda s, n, q: replace(synthetic.lawful(s, n, q, course, follows), onset=1.0)


def _fourfold(u: Floats) -> Floats:
    """Return an H that rises fourfold, linearly in log H."""
    return 0.4 * np.asarray(4.0**u)


def _gentle(h: Floats) -> Floats:
    """Return R by a law that stays above 0 while H rises to 1.6."""
    return synthetic.law(h, a=0.1, b=0.9)


def _gentle_half(h: Floats) -> Floats:
    """Return R by `_gentle` for half of the run and constant from there on."""
    half = len(h) // 2
    level = _gentle(h[half - len(h) // 20 : half]).mean()
    return np.where(np.arange(len(h)) < half, _gentle(h), level)


COVERAGE: dict[str, tuple[Make, int, Noise]] = {
    "n20 rho.5 sigma.05": (_decay_to(0.05), 20, Noise(0.5, 0.05)),
    "n50 rho.5 sigma.05": (_decay_to(0.05), 50, Noise(0.5, 0.05)),
    "n50 rho.5 sigma.15": (_decay_to(0.05), 50, Noise(0.5, 0.15)),
    "n100 rho.5 sigma.15": (_decay_to(0.05), 100, Noise(0.5, 0.15)),
    "n100 rho.9 sigma.15": (_decay_to(0.05), 100, Noise(0.9, 0.15)),
    "n200 rho0 sigma0": (_decay_to(0.05), 200, Noise(0.0, 0.0)),
    "n200 rho.5 sigma.05": (_decay_to(0.05), 200, Noise(0.5, 0.05)),
    "n200 rho.5 sigma.15": (_decay_to(0.05), 200, Noise(0.5, 0.15)),
    "n200 rho.9 sigma.05": (_decay_to(0.05), 200, Noise(0.9, 0.05)),
    "n200 rho.9 sigma.15": (_decay_to(0.05), 200, Noise(0.9, 0.15)),
    "n1000 rho.5 sigma.05": (_decay_to(0.05), 1000, Noise(0.5, 0.05)),
    "n1000 rho.5 sigma.15": (_decay_to(0.05), 1000, Noise(0.5, 0.15)),
    "n1000 rho.9 sigma.05": (_decay_to(0.05), 1000, Noise(0.9, 0.05)),
    "n1000 rho.9 sigma.15": (_decay_to(0.05), 1000, Noise(0.9, 0.15)),
    "n5000 rho.5 sigma.15": (_decay_to(0.05), 5000, Noise(0.5, 0.15)),
    "partial n200": (_decay_to(0.5), 200, Noise(0.5, 0.05)),
    "partial n1000": (_decay_to(0.5), 1000, Noise(0.5, 0.05)),
    "narrow n1000": (_decay_to(0.5, 0.3), 1000, Noise(0.5, 0.05)),
    "drift n200": (synthetic.drift, 200, Noise(0.5, 0.05)),
    "drift n1000": (synthetic.drift, 1000, Noise(0.5, 0.05)),
}

REGIMES: dict[str, Make] = {
    "law": _decay_to(0.05),
    "law_partial": _decay_to(0.5),
    "law_narrow": _decay_to(0.5, 0.3),
    "law_slight": _decay_to(0.5, 0.1),
    "law_drift": synthetic.drift,
    "kink_flat": lambda s, n, q: synthetic.kink(s, n, q, post=0.0),
    "kink_fall": synthetic.kink,
    "kink_soft": lambda s, n, q: synthetic.kink(s, n, q, fall=5.0, post=0.0),
    "hack": synthetic.hack,
    "explode": synthetic.explode,
    "explode_level": synthetic.explode_and_level,
    "rise": _rising_maker(_fourfold, _gentle),
    "rise_level": _rising_maker(lambda u: 0.4 - 1.2 * np.expm1(-u / 0.15), _gentle),
    "rise_stop": _rising_maker(_fourfold, _gentle_half),
    "rise_unrelated": _rising_maker(_fourfold, lambda h: np.full(len(h), 0.5)),
    "wrong_sign": synthetic.wrong_sign,
    "unrelated": synthetic.unrelated,
    "flat": synthetic.flat,
    "starved": synthetic.starved,
    "saturating": synthetic.saturating,
    "random_walk": synthetic.random_walk,
}
NOISES = {"low": LOW, "high": HIGH}
GRID = [(n, noise) for n in (60, 300, 1500) for noise in NOISES]


@dataclass(frozen=True)
class Coverage:
    """Coverage of the intervals of one quantity in one cell."""

    count: int
    """Number of intervals that contain the truth."""
    of: int
    ols_percent: float
    """Percentage of textbook least-squares intervals that contain the truth."""
    half_width: float
    """Median half-width."""

    @property
    def percent(self) -> float:
        return 100 * self.count / self.of


@dataclass(frozen=True)
class IntervalCoverage:
    """One cell, over its runs with at least 7 effectively independent points."""

    cell: str
    gated_percent: float
    a: Coverage
    ceiling: Coverage
    bias: float
    """Bias of a, like `rmse` in percent of the truth; the half-width of a is in its own units."""
    rmse: float


@dataclass(frozen=True)
class RegimeResult:
    """One regime at one length and noise. Percentages of runs; errors in percent of the run."""

    regime: str
    n: int
    noise: str
    words: dict[str, float]
    regimes: dict[str, float]
    found: float
    """Runs in which an onset of any kind is found: false alarms if the regime has none."""
    median_error: float | None
    p90_error: float | None
    held: float | None
    """Coverage of the intervals of onsets that were found; null if the regime has no onset."""

    @property
    def cell(self) -> str:
        return f"{self.regime} n{self.n} {self.noise}"


@dataclass(frozen=True)
class LawOutcome:
    """The law stage's results on one run."""

    verdict: verdict.Verdict
    onset: Onset | None
    regime: str | None


def intervals(cell: str, runs: int) -> IntervalCoverage:
    """Return coverage and width of the 95% intervals of a and of the ceiling in one cell."""
    make, n, noise = COVERAGE[cell]
    logs = [make(FIRST_SEED + s, n, noise) for s in range(runs)]
    fits = [
        f
        for f in (identifiability.fit(points_of(log)) for log in logs)
        if identifiability.has_enough_points(f)
    ]
    spreads = [f.spread for f in fits if f.spread is not None]
    ols = [classical(f.points) for f in fits]
    error = 100 * (np.array([s.a.value for s in spreads]) / synthetic.TRUE_A - 1)
    return IntervalCoverage(
        cell,
        100 * (1 - len(fits) / runs),
        _coverage([s.a for s in spreads], [o[0] for o in ols], synthetic.TRUE_A),
        _coverage([s.ceiling for s in spreads], [o[1] for o in ols], synthetic.TRUE_CEILING),
        float(error.mean()),
        float(np.sqrt((error**2).mean())),
    )


def _coverage(estimates: Sequence[Interval], ols: Sequence[Interval], truth: float) -> Coverage:
    count = sum(i.low <= truth <= i.high for i in estimates)
    width = float(np.median([half_width(i) for i in estimates]))
    return Coverage(count, len(estimates), coverage_percent(ols, truth), width)


def coverage_percent(intervals: Sequence[Interval], truth: float) -> float:
    """Return the percentage of intervals that contain the truth."""
    return 100 * float(np.mean([i.low <= truth <= i.high for i in intervals]))


def classical(points: Points) -> tuple[Interval, Interval]:
    """Return the least-squares estimates of a and of the ceiling, with textbook intervals."""
    x, n = points.x, len(points)
    design = np.stack([-x, np.ones(n)], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    a, b = inverse @ design.T @ points.reward
    residuals = points.reward - design @ np.array([a, b])
    covariance = residuals @ residuals / (n - 2) * inverse
    halves = [1.96 * float(np.sqrt(w @ covariance @ w)) for w in np.array([[1, 0], [-1, 1]])]
    return tuple(  # type: ignore[return-value]
        Interval(v, v - h, v + h) for v, h in zip((a, b - a), halves, strict=True)
    )


def points_of(log: SyntheticRun) -> Points:
    return Points(log.steps, log.entropy, log.reward)


def judge_run(log: SyntheticRun) -> verdict.Verdict:
    """Return the verdict on one run."""
    return look(log).verdict


def look(log: SyntheticRun) -> LawOutcome:
    points = points_of(log)
    course = onset.bin_entropy(log.steps, log.entropy)
    found_onset = onset.find_onset(course, points) if course else None
    silent_share = (
        None if log.silent is None else regime.silent_share([ColumnSeries(log.steps, log.silent)])
    )
    return LawOutcome(
        verdict.judge(identifiability.fit(points), found_onset, course, intervened=False),
        found_onset,
        regime.regime(course, regime.gain(points), found_onset, silent_share),
    )


def judge(name: str, n: int, noise: str, runs: int) -> RegimeResult:
    """Return the verdicts, onsets and regimes of one cell."""
    logs = [REGIMES[name](FIRST_SEED + s, n, NOISES[noise]) for s in range(runs)]
    looks = [look(log) for log in logs]
    onsets = [
        (k.onset, log.onset) for k, log in zip(looks, logs, strict=True) if k.onset is not None
    ]
    errors = [
        100 * abs(estimate.step - truth) / n for estimate, truth in onsets if truth is not None
    ]
    contains = [
        estimate.low <= truth <= estimate.high for estimate, truth in onsets if truth is not None
    ]
    return RegimeResult(
        name,
        n,
        noise,
        _percent([k.verdict.word for k in looks]),
        _percent([str(k.regime) for k in looks]),
        100 * len(onsets) / runs,
        float(np.median(errors)) if errors else None,
        float(np.percentile(errors, 90)) if errors else None,
        100 * float(np.mean(contains)) if contains else None,
    )


def _percent(words: Sequence[str]) -> dict[str, float]:
    return {word: 100 * count / len(words) for word, count in sorted(Counter(words).items())}
