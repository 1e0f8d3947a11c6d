"""Whether the intervals of the signals beside the law hold the truth; which plateaus are found.

    python -m benchmarks.signals [runs per cell]

Null share: H falls in a line from 1 to 0.3, that of the null control to 0.72, so that the null
explains 40%. Silent share: a share that sinks from 0.8 to 0.6, with AR(1) noise of 0.05. Reward
left: a run that follows the law until H falls for good. Plateau: R rises in a line until a known
step, or never stops; with all rows, and with those that uneven.ROWS leaves of 300. Prints Markdown
tables; benchmarks/signals.md holds a dated result.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import numpy as np

from harness.law.estimate import identifiability, null_control, onset, regime, signals
from harness.law.estimate.interval import half_width
from harness.law.estimate.signals import Ceiling
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnSeries
from harness.law.results import Interval, RunResult, RunSeries
from harness.testing import synthetic, uneven
from harness.testing.synthetic import Noise, SyntheticRun

FIRST_SEED = 3_000_000
ENDS = {"run": 0.3, "null": 0.72}
"""Last value of H, which starts at 1: the null control explains 40% of the fall."""
STILL = Noise(0.5, 0.05, 0.0)
NOISES = {"rho0": Noise(0.0, 0.05, 0.0), "rho.5": STILL, "rho.9": Noise(0.9, 0.15, 0.0)}
Try = Callable[[int, int, Noise], tuple[Interval | None, float]]
"""Seed, steps, noise -> the interval that was given, if any, and the truth."""


def null_share(seed: int, n: int, noise: Noise) -> tuple[Interval | None, float]:
    ends = enumerate(ENDS.items())
    logs = {name: _line(seed + 10**6 * k, n, noise, end) for k, (name, end) in ends}
    series = {name: _series(log) for name, log in logs.items()}
    run, null = (RunResult(name, "ok", None, n, {}) for name in ENDS)
    first, last = max(3, n // 50), max(3, n // 10)
    meant = [1 + (end - 1) * np.arange(n) / n for end in ENDS.values()]
    whole, part = (float(h[:first].mean() - h[-last:].mean()) for h in meant)
    return null_control.net_of_null(run, [null], series).null_share, part / whole


def silent_share(seed: int, n: int, noise: Noise) -> tuple[Interval | None, float]:
    mean = 0.6 + 0.2 * np.exp(-np.arange(n) / n / 0.25)
    values = mean + 0.05 * synthetic.ar1(np.random.default_rng(seed), n, noise.rho)
    return regime.silent_share([ColumnSeries(np.arange(1.0, n + 1), values)]), float(mean.mean())


def reward_left(seed: int, n: int, noise: Noise) -> tuple[Interval | None, float]:
    log = synthetic.kink(seed, n, noise)
    assert log.onset is not None
    h = np.exp(np.array(-0.8 * (log.onset - 1) / n))
    truth = synthetic.TRUE_CEILING - float(synthetic.law(h))
    points, course = _points(log), onset.bin_entropy(log.steps, log.entropy)
    knot = onset.find_onset(course, points) if course is not None else None
    law = identifiability.fit(points.where(points.steps < knot.step)) if knot is not None else None
    if law is None or law.spread is None:
        return None, truth
    ceiling = Ceiling(law.spread.ceiling, identifiability.judge_identifiability(law).ceiling)
    about = signals.at_onset(knot, points, ceiling, {})
    left = about.reward_left if about else None
    if left is None or left.low is None or left.high is None:
        return None, truth
    return Interval(left.value, left.low, left.high), truth


def plateau(seed: int, n: int, noise: Noise, at: float, rows: str = "all") -> float | None:
    """Return the share of the run where a plateau is found; the reward rises until `at`."""
    mean = 0.3 + 0.4 * np.minimum(np.arange(n) / n, at) / at
    rng = np.random.default_rng(seed)
    log = SyntheticRun(
        np.arange(1.0, n + 1), np.ones(n), mean + 0.05 * synthetic.ar1(rng, n, noise.rho)
    )
    step = regime.reward_plateau(_points(uneven.thin_log(log, rows)))
    return None if step is None else step / n


def _line(seed: int, n: int, noise: Noise, end: float) -> SyntheticRun:
    return synthetic.lawful(seed, n, noise, lambda u: 1 + (end - 1) * u)


def _points(log: SyntheticRun) -> Points:
    return Points(log.steps, log.entropy, log.reward)


def _series(log: SyntheticRun) -> RunSeries:
    h = log.entropy
    return RunSeries("run", "run", "easy", 1, log.steps, h, log.reward, log.steps, h)


def interval_row(once: Try, runs: int, n: int, noise: Noise) -> str:
    """Share of runs with an interval, of those that hold the truth, and their median half-width."""
    tried = [once(FIRST_SEED + seed, n, noise) for seed in range(runs)]
    intervals = [(i, truth) for i, truth in tried if i is not None]
    if not intervals:
        return "0 | |"
    covered = np.mean([i.low <= truth <= i.high for i, truth in intervals])
    width = np.median([half_width(i) for i, _ in intervals])
    return f"{100 * len(intervals) / runs:.0f} | {100 * covered:.1f} | {width:.3f}"


def plateau_row(runs: int, n: int, noise: Noise, at: float, rows: str = "all") -> str:
    """Share of runs where one is found, median and 90th percentile of its error."""
    tried = [plateau(FIRST_SEED + seed, n, noise, at, rows) for seed in range(runs)]
    errors = [100 * abs(share - at) for share in tried if share is not None]
    percent = f"{100 * len(errors) / runs:.0f}"
    if at == 1 or not errors:
        return f"{percent} | |"
    return f"{percent} | {np.median(errors):.1f} | {np.percentile(errors, 90):.1f}"


TRIES: dict[str, Try] = {
    "null share": null_share,
    "silent share": silent_share,
    "reward left": reward_left,
}
STEPS = (60, 300, 1500)


def main(runs: int) -> None:
    print("| signal | n | noise | given % | covered % | half-width |")
    print("|---|---|---|---|---|---|")
    for name, once in TRIES.items():
        for n, (called, noise) in itertools.product(STEPS, NOISES.items()):
            print(f"| {name} | {n} | {called} | {interval_row(once, runs, n, noise)} |")
    print("\n| plateau at | n | noise | found % | error, % of the run | 90th percentile |")
    print("|---|---|---|---|---|---|")
    for at, n, (called, noise) in itertools.product((0.3, 0.6, 1.0), STEPS, NOISES.items()):
        where = "none" if at == 1 else f"{100 * at:.0f}%"
        print(f"| {where} | {n} | {called} | {plateau_row(runs, n, noise, at)} |")
    print(
        "\n| rows of 300 | plateau at | noise | found % | error, % of the run | 90th percentile |"
    )
    print("|---|---|---|---|---|---|")
    for rows, at, called in itertools.product(uneven.ROWS, (0.3, 0.6, 1.0), ("rho.5", "rho.9")):
        where = "none" if at == 1 else f"{100 * at:.0f}%"
        cells = plateau_row(runs, 300, NOISES[called], at, rows)
        print(f"| {rows} | {where} | {called} | {cells} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
