"""Coverage and width of the 95% intervals, and the verdicts, on runs with known truth.

    python -m benchmarks.coverage [runs per cell]

Runs with known a, b and onset (harness/testing/cells.py) go through the law stage in memory, two
cells at once. Prints Markdown tables, and after each what was promised and whether it is reached;
benchmarks/coverage.md holds a dated result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from harness.law.results import VERDICTS
from harness.testing import cells, promises, quoted, uneven
from harness.testing.cells import IntervalCoverage, RegimeResult
from harness.testing.synthetic import TRUE_A
from harness.testing.uneven import ThinnedResult

PROCESSES = 2
WITH_ONSET = ("kink_fall", "kink_flat", "kink_soft", "explode", "explode_level",
              "rise", "rise_level")  # fmt: skip
EXPECTED = {
    "law_partial": "learning",
    "kink_fall": "collapsed",
    "explode": "exploded",
    "rise": "exploded",
    "rise_level": "exploded",
    "starved": "starved",
    "flat": "drifting",
}
"""The word for each of these regimes in a run's row."""


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    began = time.perf_counter()
    grid = [(regime, n, noise) for regime in cells.REGIMES for n, noise in cells.GRID]
    with ProcessPoolExecutor(PROCESSES) as pool:
        intervals = list(pool.map(cells.intervals, cells.COVERAGE, repeat(runs)))
        judged = list(pool.map(cells.judge, *zip(*grid, strict=True), repeat(runs)))
        beside = list(quoted.tables(pool, runs))
        thinned = uneven.measure(pool, runs)
    print(f"{runs} runs a cell, seeds from {cells.FIRST_SEED}\n")
    _print_intervals(intervals)
    _print_verdicts(judged)
    _print_onsets(judged)
    _print_regimes(judged)
    print("\nBeside the verdict, of which nothing was promised.\n")
    print("\n".join(beside))
    _print_uneven(thinned)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def _print_intervals(measured: Sequence[IntervalCoverage]) -> None:
    print("Coverage of 95% intervals, %; a in % of the truth; n_eff >= 7 only.\n")
    head = "cell | gated out % | a covered | ols a covered | a bias | a rmse | a half-width"
    head += " | ceiling covered | ols ceiling covered | ceiling half-width"
    print(f"| {head} |\n|" + "---|" * 10)
    for m in measured:
        print(
            f"| {m.cell} | {m.gated_percent:.1f} | {m.a.percent:.1f} | {m.a.ols_percent:.1f} "
            f"| {m.bias:+.1f} | {m.rmse:.1f} | {100 * m.a.half_width / TRUE_A:.1f} "
            f"| {m.ceiling.percent:.1f} | {m.ceiling.ols_percent:.1f} "
            f"| {m.ceiling.half_width:.4f} |"
        )
    kept = promises.table(promises.of_intervals(measured))
    print(f"\nPromised, over the cells without drift:\n\n{kept}")


def _print_verdicts(measured: Sequence[RegimeResult]) -> None:
    print(f"\nVerdicts, %: {' / '.join(VERDICTS)}.\n")
    names = [f"n{n} {noise}" for n, noise in cells.GRID]
    print("| regime | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for regime in cells.REGIMES:
        row = [m for m in measured if m.regime == regime]
        shares = ["/".join(f"{m.words.get(word, 0):.0f}" for word in VERDICTS) for m in row]
        print(f"| {regime} | " + " | ".join(shares) + " |")
    print(f"\nPromised:\n\n{promises.table(promises.of_verdicts(measured))}")


def _print_onsets(measured: Sequence[RegimeResult]) -> None:
    print("\nOnset: found %, median and 90th percentile of the error in % of the run, and how many")
    print("intervals cover the truth, %. Where there is no onset, found % is false alarms.\n")
    print("| regime | n | noise | found | median | p90 | covered |\n|" + "---|" * 7)
    for regime in (*WITH_ONSET, *promises.NO_ONSET):
        for m in (m for m in measured if m.regime == regime):
            errors = " | | "
            if m.median_error is not None:
                errors = f"{m.median_error:.1f} | {m.p90_error:.1f} | {m.held:.0f}"
            print(f"| {regime} | {m.n} | {m.noise} | {m.found:.1f} | {errors} |")
    print(f"\nPromised:\n\n{promises.table(promises.of_onsets(measured))}")


def _print_regimes(measured: Sequence[RegimeResult]) -> None:
    print("\nRegime: % called by its own name. Nothing was promised of these.\n")
    names = [f"n{n} {noise}" for n, noise in cells.GRID]
    print("| regime | word | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2))
    for regime, word in EXPECTED.items():
        row = [f"{m.regimes.get(word, 0):.0f}" for m in measured if m.regime == regime]
        print(f"| {regime} | {word} | " + " | ".join(row) + " |")


def _print_uneven(measured: Sequence[ThinnedResult]) -> None:
    print(f"\nRows at uneven steps: % terminal_fall, budget_spent: % {' / '.join(VERDICTS)}.")
    print("Nothing was promised of these.\n")
    print(uneven.table(measured))


if __name__ == "__main__":
    main()
