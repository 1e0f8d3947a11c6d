"""Values quoted with a verdict: how often they are right for runs with known truth.

These are the gain of a constant reward, a and ceiling if they are called identified, the curve that
`against_linear` prefers, and `noise_driven`, with one table each. benchmarks/coverage.py prints
them. A row depends only on its function's arguments, so another process can compute it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import product, repeat

import numpy as np

from harness.law.estimate import identifiability, null_control, regime, rivals
from harness.law.estimate.identifiability import LawFit
from harness.law.results import Floats, Interval
from harness.testing import synthetic
from harness.testing.cells import FIRST_SEED, points_of
from harness.testing.synthetic import HIGH, LOW, TRUE_A, TRUE_CEILING, Noise, SyntheticRun

NOISES = {"low": LOW, "mid": Noise(0.5, 0.15, 0.05), "high": HIGH}
"""mid: H's noise is as large as in high, its autocorrelation as in low."""
SHORT, ALL = (16, 20, 31, 60), (16, 20, 31, 61, 100, 300)
RHOS = (0.0, 0.5, 0.8, 0.9)
COURSES = {"1 to .05": (1.0, 0.05), "2 to .1": (2.0, 0.05), ".5 to .1": (0.5, 0.2)}
"""H at the start, and its share that is left at the end."""
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "law": synthetic.law,
    "line": lambda h: 0.8 - h / 2,
}
FEWEST = 10
"""Minimum number of runs for a mean to be printed."""
SHARES = (0.3, 0.4, 0.6, 0.9)
FALLS = (0.15, 0.6)
"""Falls of H from 0.8, in nats; that of the null control is a share of it."""


def tables(pool: Executor, runs: int) -> Iterator[str]:
    """Yield the tables as Markdown, each after a sentence about it."""
    yield "Gain of a reward that stands still: % of 95% intervals that hold 0 / lie above it, which"
    yield "is called learning where nothing comes before it.\n"
    yield _head("n", *(f"rho {rho:g}" for rho in RHOS))
    yield from pool.map(gain_row, ALL, repeat(runs))
    yield "\na and ceiling of lawful runs, given that they are identified.\n"
    yield _head("n", "noise", "H", "n_eff >= 7, %", "a covered", "a identified, %", "covered",
                "mean a / true", "ceiling identified, %", "covered")  # fmt: skip
    combinations = product(SHORT, NOISES, COURSES)
    yield from pool.map(identified_row, *zip(*combinations, strict=True), repeat(runs))
    yield "\nLaw against a line in H: % told right / wrong; the rest is not distinguishable.\n"
    yield _head("truth", "n", "low", "high")
    curves = product(TRUTHS, (20, 31, 60, 200, 1000))
    yield from pool.map(rival_row, *zip(*curves, strict=True), repeat(runs))
    yield "\nnoise_driven, % of the runs whose share is known, by the true share. Right above .5.\n"
    yield _head("n", "rho", "fall of H", "known, %", *(f"{share:g}" for share in SHARES))
    falls = product((40, 300), (0.5, 0.9), FALLS)
    yield from pool.map(driven_row, *zip(*falls, strict=True), repeat(runs))


def gain_row(n: int, runs: int) -> str:
    cells = []
    for rho in RHOS:
        gains = [
            regime.gain(points_of(_constant_reward_run(seed, n, rho))) for seed in _seeds(runs)
        ]
        low = np.array([g.low for g in gains if g is not None])
        high = np.array([g.high for g in gains if g is not None])
        cells.append(
            f"{100 * np.mean((low <= 0) & (high >= 0)):.1f} / {100 * np.mean(low > 0):.1f}"
        )
    return _row(n, *cells)


def _constant_reward_run(seed: int, n: int, rho: float) -> SyntheticRun:
    reward = 0.5 + 0.04 * synthetic.ar1(np.random.default_rng(seed), n, rho)
    return SyntheticRun(np.arange(1.0, n + 1), np.ones(n), reward)


def identified_row(n: int, noise: str, course: str, runs: int) -> str:
    start, end = COURSES[course]
    shape = synthetic.exponential(end, start)
    logs = (synthetic.lawful(seed, n, NOISES[noise], shape) for seed in _seeds(runs))
    fits = [
        f
        for f in (identifiability.fit(points_of(log)) for log in logs)
        if identifiability.has_enough_points(f)
    ]
    identified = {
        quantity: [f for f in fits if getattr(identifiability.judge_identifiability(f), quantity)]
        for quantity in ("a", "ceiling")
    }
    ratios = [f.spread.a.value / TRUE_A for f in identified["a"] if f.spread]
    return _row(
        n, noise, course, f"{100 * len(fits) / runs:.0f}", _coverage(fits, "a", TRUE_A),
        f"{100 * len(identified['a']) / runs:.0f}", _coverage(identified["a"], "a", TRUE_A),
        _mean(ratios),
        f"{100 * len(identified['ceiling']) / runs:.0f}",
        _coverage(identified["ceiling"], "ceiling", TRUE_CEILING),
    )  # fmt: skip


def _coverage(fits: Sequence[LawFit], quantity: str, truth: float) -> str:
    """Return the percentage of intervals that contain the truth."""
    intervals: list[Interval] = [getattr(f.spread, quantity) for f in fits]
    return _mean([100.0 * (i.low <= truth <= i.high) for i in intervals], ".0f")


def _mean(values: Sequence[float], kind: str = ".2f") -> str:
    """Return the mean as text; empty for fewer than FEWEST values."""
    return format(np.mean(values), kind) if len(values) >= FEWEST else ""


def rival_row(truth: str, n: int, runs: int) -> str:
    right = {"law": "law_better", "line": "linear_better"}[truth]
    cells = []
    for noise in (LOW, HIGH):
        logs = (synthetic.lawful(s, n, noise, follows=TRUTHS[truth]) for s in _seeds(runs))
        verdicts = Counter(rivals.against_linear(rivals.compare(points_of(log))) for log in logs)
        decided = verdicts["law_better"] + verdicts["linear_better"]
        cells.append(
            f"{100 * verdicts[right] / runs:.0f} / {100 * (decided - verdicts[right]) / runs:.1f}"
        )
    return _row(truth, n, *cells)


def driven_row(n: int, rho: float, fall: float, runs: int) -> str:
    cells, measured_count = [], 0
    for share in SHARES:
        estimates = [_null_share(seed, n, rho, fall, share) for seed in _seeds(runs)]
        measured = [f for f in estimates if f is not None]
        measured_count = len(measured)
        driven_count = sum(null_control.is_noise_driven(f) for f in measured)
        cells.append(f"{100 * driven_count / measured_count:.1f}" if measured_count else "")
    return _row(n, f"{rho:g}", fall, f"{100 * measured_count / runs:.0f}", *cells)


def _null_share(seed: int, n: int, rho: float, fall: float, share: float) -> Interval | None:
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    run_fall, null_fall = (
        null_control.fall((0.8 - fell * u) * np.exp(0.05 * synthetic.ar1(rng, n, rho)))
        for fell in (fall, fall * share)
    )
    return null_control.share(null_fall, run_fall) if run_fall and null_fall else None


def _seeds(runs: int) -> range:
    return range(FIRST_SEED, FIRST_SEED + runs)


def _head(*names: str) -> str:
    return f"{_row(*names)}\n|" + "---|" * len(names)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
