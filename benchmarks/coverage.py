"""How often the 95% intervals hold the truth, how wide they are, and what the verdicts say.

    python -m benchmarks.coverage [runs per cell]

Runs with known a, b and onset (tests/law/synthetic.py) go through the law stage in memory.
Prints three Markdown tables; benchmarks/coverage.md holds a dated result.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.law import gates, onset, verdict
from harness.law.clean import Points
from harness.law.interval import half_width
from harness.law.results import VERDICTS, Interval
from tests.law import synthetic
from tests.law.synthetic import HIGH, LOW, Log, Noise

Make = Callable[[int, int, Noise], Log]
FIRST_SEED = 1_000_000
"""Far from the seeds that the rules were tried out on."""


@dataclass(frozen=True)
class Cell:
    name: str
    make: Make
    n: int
    noise: Noise


def _to(end: float, start: float = 1.0) -> Make:
    course = synthetic.exponential(end, start)
    return lambda seed, n, noise: synthetic.lawful(seed, n, noise, course)


CELLS = [
    Cell("n50 rho.5 sigma.05", _to(0.05), 50, Noise(0.5, 0.05)),
    Cell("n200 rho0 sigma0", _to(0.05), 200, Noise(0.0, 0.0)),
    Cell("n200 rho.5 sigma.05", _to(0.05), 200, Noise(0.5, 0.05)),
    Cell("n200 rho.5 sigma.15", _to(0.05), 200, Noise(0.5, 0.15)),
    Cell("n200 rho.9 sigma.05", _to(0.05), 200, Noise(0.9, 0.05)),
    Cell("n1000 rho.5 sigma.05", _to(0.05), 1000, Noise(0.5, 0.05)),
    Cell("n1000 rho.5 sigma.15", _to(0.05), 1000, Noise(0.5, 0.15)),
    Cell("n1000 rho.9 sigma.05", _to(0.05), 1000, Noise(0.9, 0.05)),
    Cell("partial n200", _to(0.5), 200, Noise(0.5, 0.05)),
    Cell("partial n1000", _to(0.5), 1000, Noise(0.5, 0.05)),
    Cell("narrow n1000", _to(0.5, 0.3), 1000, Noise(0.5, 0.05)),
]

REGIMES: dict[str, Make] = {
    "law": _to(0.05),
    "law_partial": _to(0.5),
    "law_narrow": _to(0.5, 0.3),
    "kink_flat": lambda s, n, q: synthetic.kink(s, n, q, post=0.0),
    "kink_fall": synthetic.kink,
    "kink_soft": lambda s, n, q: synthetic.kink(s, n, q, fall=5.0, post=0.0),
    "hack": synthetic.hack,
    "explode": synthetic.explode,
    "wrong_sign": synthetic.wrong_sign,
    "unrelated": synthetic.unrelated,
    "flat": synthetic.flat,
    "saturating": synthetic.saturating,
    "random_walk": synthetic.random_walk,
}


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print(f"{replicates} runs a cell, seeds from {FIRST_SEED}\n")
    _print_coverage(replicates)
    _print_verdicts(replicates)
    _print_onsets(replicates)


def points_of(log: Log) -> Points:
    return Points(log.steps, log.entropy, log.reward)


def _print_coverage(replicates: int) -> None:
    print("Coverage of 95% intervals, %; a in % of the truth; n_eff >= 7 only.\n")
    print(
        "| cell | gated out % | a covered | ols a covered | a bias | a rmse | a half-width |",
        end="",
    )
    print(" ceiling covered | ols ceiling covered | ceiling half-width |\n|" + "---|" * 10)
    for cell in CELLS:
        logs = [cell.make(FIRST_SEED + s, cell.n, cell.noise) for s in range(replicates)]
        fits = [f for f in (gates.fit(points_of(log)) for log in logs) if gates.enough(f)]
        spreads = [f.spread for f in fits if f.spread is not None]
        a, c = [s.a for s in spreads], [s.ceiling for s in spreads]
        error = 100 * (np.array([i.value for i in a]) / synthetic.TRUE_A - 1)
        ols = [classical(f.points) for f in fits]
        print(
            f"| {cell.name} | {100 * (1 - len(fits) / replicates):.1f} "
            f"| {covered(a, synthetic.TRUE_A):.1f} "
            f"| {covered([o[0] for o in ols], synthetic.TRUE_A):.1f} "
            f"| {error.mean():+.1f} | {np.sqrt((error**2).mean()):.1f} "
            f"| {100 * np.median([half_width(i) for i in a]) / synthetic.TRUE_A:.1f} "
            f"| {covered(c, synthetic.TRUE_CEILING):.1f} "
            f"| {covered([o[1] for o in ols], synthetic.TRUE_CEILING):.1f} "
            f"| {np.median([half_width(i) for i in c]):.4f} |",
            flush=True,
        )


def covered(intervals: Sequence[Interval], truth: float) -> float:
    """Per cent of the intervals that hold the truth."""
    return 100 * float(np.mean([i.low <= truth <= i.high for i in intervals]))


def classical(points: Points) -> tuple[Interval, Interval]:
    """Least squares with its textbook interval: of a, and of the ceiling."""
    x, n = points.x, len(points)
    design = np.stack([-x, np.ones(n)], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    a, b = inverse @ design.T @ points.reward
    left = points.reward - design @ np.array([a, b])
    covariance = left @ left / (n - 2) * inverse
    halves = [1.96 * float(np.sqrt(w @ covariance @ w)) for w in np.array([[1, 0], [-1, 1]])]
    return tuple(  # type: ignore[return-value]
        Interval(v, v - h, v + h) for v, h in zip((a, b - a), halves, strict=True)
    )


def _print_verdicts(replicates: int) -> None:
    print("\nVerdicts, %: holds / holds_until_onset / fails / undetermined.\n")
    grid = [(n, noise) for n in (60, 300, 1500) for noise in (LOW, HIGH)]
    names = [f"n{n} {'low' if noise is LOW else 'high'}" for n, noise in grid]
    print("| regime | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for regime, make in REGIMES.items():
        cells = []
        for n, noise in grid:
            logs = (make(FIRST_SEED + s, n, noise) for s in range(replicates))
            words = Counter(judged(log).word for log in logs)
            shares = [f"{100 * words[w] / replicates:.0f}" for w in VERDICTS]
            cells.append("/".join(shares))
        print(f"| {regime} | " + " | ".join(cells) + " |", flush=True)


def judged(log: Log) -> verdict.Verdict:
    """The verdict on one run."""
    points = points_of(log)
    course = onset.course(log.steps, log.entropy)
    found = onset.find(course, points) if course else None
    return verdict.judge(gates.fit(points), found, course, intervened=False)


def _print_onsets(replicates: int) -> None:
    print("\nOnset: found %, of the kind sought %, median and 90th percentile of the error in %")
    print("of the run, interval holds the truth %. Where there is none: found % is false alarms.\n")
    print("| regime | n | noise | found | median | p90 | covered |\n|" + "---|" * 7)
    falls = ["kink_fall", "kink_flat", "kink_soft", "explode"]
    none = ["law_partial", "hack", "flat"]
    for regime in [*falls, *(r for r in none if r in REGIMES)]:
        for n, noise in [(60, LOW), (300, LOW), (300, HIGH), (1500, LOW), (1500, HIGH)]:
            logs = [REGIMES[regime](FIRST_SEED + s, n, noise) for s in range(replicates)]
            print(f"| {regime} | {n} | {'low' if noise is LOW else 'high'} | {_onsets(logs)} |")


def _onsets(logs: Sequence[Log]) -> str:
    found, errors, held = 0, [], 0
    for log in logs:
        course = onset.course(log.steps, log.entropy)
        at = onset.find(course, points_of(log)) if course else None
        if at is None:
            continue
        found += 1
        if log.onset is not None:
            errors.append(100 * abs(at.step - log.onset) / len(log.steps))
            held += at.low <= log.onset <= at.high
    share = f"{100 * found / len(logs):.1f}"
    if not errors:
        return f"{share} | | |"
    middle, high = np.percentile(errors, [50, 90])
    return f"{share} | {middle:.1f} | {high:.1f} | {100 * held / found:.0f}"


if __name__ == "__main__":
    main()
