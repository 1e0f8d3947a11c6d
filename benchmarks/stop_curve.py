"""What the stop rule saves against what it loses, beside an oracle under the same limits.

    python -m benchmarks.stop_curve RUNS... [--crossed]

RUNS are folders that benchmarks.stop_runs has filled. For every constant of the risk: the share of
steps saved, the mean loss and the share of runs that lose more than .05; what an oracle saves that
knows every run's end and may lose as much; and the losses between smoothed rewards, which an
evaluation's own noise moves less. `--crossed` takes weights that did not see a run's seed, for
runs that the shipped ones were made from.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from benchmarks import stop_calibrate, stop_outcome
from benchmarks.stop_calibrate import Points
from benchmarks.stop_outcome import BIG_LOSS, MOST_LOSS, Outcome, Run
from harness.stopping import calibration as shipped

Floats = NDArray[np.float64]
RISKS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2)
LATE = 3
"""The smoothed end of a run is the mean of so many evaluations; a stop's, of those about it."""


def oracle(runs: Sequence[Run], loss: float, big: float) -> float:
    """Share of steps saved, at most, with this mean loss and this share of big losses.

    The best choice of an evaluation for each run that is known to its end: a linear program, in
    which all but two runs have one evaluation.
    """
    saved = [run.saved(n) for run in runs for n in range(1, run.evaluations + 1)]
    gain = np.array([run.gain(n) for run in runs for n in range(1, run.evaluations + 1)])
    which = np.repeat(np.arange(len(runs)), [run.evaluations for run in runs])
    one = coo_array((np.ones(len(which)), (which, np.arange(len(which)))))
    limits = np.array([gain, gain > BIG_LOSS], dtype=np.float64) / len(runs)
    every = np.ones(len(runs))
    found = linprog(  # type: ignore[call-overload]  # takes a sparse matrix; its stubs do not
        -np.array(saved), A_ub=limits, b_ub=[loss, big], A_eq=one, b_eq=every
    )
    return float(-found.fun) / len(runs)


def smoothed(run: Run, count: int) -> float:
    """Loss between means of evaluations: the last ones, and the one at the stop with those beside
    it.
    """
    if count >= run.evaluations:
        return 0.0
    reward = run.seen.reward
    return float(reward[-LATE:].mean() - reward[max(count - 2, 0) : count + 1].mean())


def forecasts(runs: Sequence[Run], crossed: bool) -> tuple[Points, Floats, Floats]:
    """Every point with its expected gain and spread."""
    known = shipped.load_shipped()
    held = stop_calibrate.points(runs, known.noise)
    if crossed:
        return held, *stop_calibrate.crossed(runs, held)
    means = np.array([known.room, known.room_entropy, known.level])
    spreads = np.array([known.spread_noise, known.spread_room, known.spread_fallen])
    return held, held.means @ means, np.sqrt(held.spreads**2 @ spreads**2)


def table(runs: Sequence[Run], crossed: bool) -> None:
    """Print a row for every constant, and the one that is shipped."""
    held, gain, spread = forecasts(runs, crossed)
    print("| risk | steps saved | mean loss | losing more than .05 | an oracle that may lose as "
          "much | one with a mean loss of .01 | mean loss, smoothed | losing more than .05, "
          "smoothed |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    chosen = shipped.load_shipped().most_risk
    for risk in sorted({*RISKS, chosen}):
        stops = stop_calibrate.stops_at(runs, held, gain, spread, risk)
        found = Outcome.of(runs, stops)
        even = np.array([smoothed(run, count) for run, count in zip(runs, stops, strict=True)])
        name = f"**{risk:g}, shipped**" if risk == chosen else f"{risk:g}"
        print(
            f"| {name} | {found.saved:.1%} | {found.lost:+.4f} | {found.big:.1%} | "
            f"{oracle(runs, found.lost, found.big):.1%} | "
            f"{oracle(runs, MOST_LOSS, found.big):.1%} | "
            f"{even.mean():+.4f} | {(even > BIG_LOSS).mean():.1%} |"
        )
    stops = stop_calibrate.stops_at(runs, held, gain, spread, chosen)
    lost = np.array([run.gain(count) for run, count in zip(runs, stops, strict=True)])
    even = np.array([smoothed(run, count) for run, count in zip(runs, stops, strict=True)])
    both = int(((lost > BIG_LOSS) & (even > BIG_LOSS)).sum())
    print(f"\n{int((lost > BIG_LOSS).sum())} runs lose more than {BIG_LOSS:g}, {both} of them also "
          f"smoothed; mean loss of those stopped {lost[lost != 0].mean():+.4f}, expected below "
          f"{MOST_LOSS:g}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--crossed", action="store_true", help="weights that did not see the seed")
    given = parser.parse_args()
    runs = stop_outcome.load(given.runs)
    print(f"{len(runs)} runs\n")
    table(runs, given.crossed)


if __name__ == "__main__":
    main()
