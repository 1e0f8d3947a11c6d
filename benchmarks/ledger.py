"""What the entropy ledgers of finished runs say, against null controls and against themselves.

    harness sweep policy=tabular difficulty=medium,hard 'seed=range(1,21)' \\
        algorithm.null_control=false,true
    python -m benchmarks.ledger RUNS_DIR...

Reads the run folders at or below the paths and prints three Markdown tables of sets of runs alike
but for the seed. A run counts with the sum of its entries, in nats, below 0 where H fell; means are
over runs, with 95% t intervals. What is not done, damaged or without a ledger is named on stderr.

1. Every set: what H changed by, its parts, and the closure (total less the parts).
2. Null controls: their signal is 0, so signal / signal_se should have a root mean square of 1; p is
   the chance of one as large or larger (chi-square of as many degrees as runs).
3. Every arm with null controls: its noise beside what H changed by in these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from harness.law.compare import groups, seed_means
from harness.law.estimate.entropy_ledger import COLUMNS, PARTS
from harness.law.io import discover, identity, reading
from harness.law.io.table import ReadError
from harness.law.variance import damage
from harness.records.run_folder import RunFolder

CLOSES = 0.03
"""Nats within which signal, noise and remedy should sum to the total of a run."""
SUMMED = ("total", *PARTS, "momentum", "closure")
NULL_CONTROL = "algorithm.null_control"
NO_LEDGER = (
    "no entropy ledger: policy=tabular with eval.ledger=true writes one, and a language model with "
    "eval.ledger_draws=2 or more"
)


@dataclass(frozen=True)
class Run:
    """A finished run with a ledger; `axes` lack seed and NULL_CONTROL, `sums` has all of SUMMED."""

    seed: int
    null_control: bool
    axes: Mapping[str, Any]
    sums: Mapping[str, float]
    signal_se: float


Arms = dict[str, tuple[list[Run], list[Run]]]
"""Name -> runs alike but for the seed, and their null controls; either may be none."""


def main() -> None:
    runs, left_out = read([Path(path) for path in sys.argv[1:]])
    print("\n".join(left_out), file=sys.stderr)
    print("\n".join(tables(arms(runs))))


def read(paths: Sequence[Path]) -> tuple[list[Run], list[str]]:
    """The runs that count, and a line for each path that does not; of repeats the last counts."""
    found, runs = discover.discover(paths), dict[str, Run]()
    left_out = [f"{skipped.path}: {skipped.reason}" for skipped in found.skipped]
    for place in found.runs:
        run = _run(place.folder) if place.folder else "no run folder of ours"
        if isinstance(run, str):
            left_out.append(f"{place.run}: {run}")
        else:
            runs[repr([run.axes, run.null_control, run.seed])] = run
    return list(runs.values()), left_out


def _run(folder: Path) -> Run | str:
    """The run, or why it does not count."""
    who = identity.read(folder)
    if who.full_config is None or who.seed is None or who.status != "done":
        return f"not done: {who.status or 'no status'}"
    names = [f"ledger/{name}" for name in SUMMED]
    try:
        table = reading.read(RunFolder(folder).metrics, ["step", *names, *COLUMNS])
    except ReadError as unreadable:
        return unreadable.problem.message
    if damaged := damage.row_damage(table, who):
        return damaged
    if not np.isfinite(table.columns["ledger/signal_se"]).any():
        return NO_LEDGER
    axes = groups.flatten_config(dict(who.full_config))
    axes = {key: axes[key] for key in sorted(axes) if key != NULL_CONTROL}
    there = {name: table.columns.get(f"ledger/{name}", np.zeros(0)) for name in SUMMED}
    sums = {name: float(np.nansum(column)) for name, column in there.items()}
    variance = float(np.nansum(table.columns["ledger/signal_se"] ** 2))
    return Run(who.seed, who.null_control, axes, sums, variance**0.5)


def arms(runs: Sequence[Run]) -> Arms:
    """In the order in which they were found."""
    by_axes: dict[str, list[Run]] = {}
    for run in runs:
        by_axes.setdefault(repr(run.axes), []).append(run)
    told = groups.distinguishing_axes([some[0].axes for some in by_axes.values()])
    made: Arms = {}
    for some in by_axes.values():
        name = ", ".join(f"{key}={some[0].axes.get(key)}" for key in told) or "all runs"
        made[name] = [r for r in some if not r.null_control], [r for r in some if r.null_control]
    return made


def tables(of: Arms) -> Iterator[str]:
    """The three tables, with an empty line between."""
    yield from _head("runs", "n", *SUMMED, f"closes within {CLOSES:g}")
    for arm, both in of.items():
        for name, runs in zip((arm, f"{arm}, null control"), both, strict=True):
            if runs:
                within = sum(abs(run.sums["closure"]) <= CLOSES for run in runs)
                means = [mean(runs, part, 4 if part == "closure" else 3) for part in SUMMED]
                yield _row(name, len(runs), *means, f"{within / len(runs):.0%}")
    yield from ("", *_head("null controls", "n", "signal / its error, rms", "p"))
    for arm, (_, null) in of.items():
        ratios = [run.sums["signal"] / run.signal_se for run in null if run.signal_se > 0]
        if n := len(ratios):
            square = float(np.sum(np.square(ratios)))
            yield _row(arm, n, f"{(square / n) ** 0.5:.2f}", f"{stats.chi2.sf(square, n):.2f}")
    yield from ("", *_head("runs", "n", "noise", "null controls", "their total", "their noise"))
    for arm, (real, null) in of.items():
        if real and null:
            of_null = mean(null, "total"), mean(null, "noise")
            yield _row(arm, len(real), mean(real, "noise"), len(null), *of_null)


def mean(runs: Sequence[Run], part: str, decimals: int = 3) -> str:
    """Mean over runs ± half its 95% t interval, which one run does not have."""
    pool = seed_means.mean_over_seeds([run.sums[part] for run in runs], 0)
    half = "" if pool.high is None else f" ± {pool.high - (pool.mean or 0.0):.{decimals}f}"
    return f"{pool.mean:+.{decimals}f}{half}"


def _head(*names: str) -> tuple[str, str]:
    return _row(*names), "|" + "---|" * len(names)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
