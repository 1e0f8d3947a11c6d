"""Onsets after a trough, falls, dead rewards, glitches and forecasts, on runs with known truth.

    python -m benchmarks.landmarks [runs per cell]

Runs are made by harness/testing (turning.py, cells.py) and go through the law stage in memory.
Prints Markdown tables, and after each what was promised and whether it is reached;
benchmarks/landmarks.md holds a dated result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from harness.law.estimate import forecast, onset, regime, spikes
from harness.law.io.clean import Cleaned
from harness.law.results import Onset
from harness.testing import cells, promises, turning
from harness.testing.cells import NOISES, points_of
from harness.testing.promises import Promise, at_least, at_most
from harness.testing.synthetic import Noise, SyntheticRun

FIRST_SEED = 2_000_000
LENGTHS = (100, 300, 1500)
SHARP, FALLS = ("kink_fall", "kink_flat"), ("kink_fall", "kink_flat", "kink_soft")
GLITCHED = ("law", "kink_flat", "unrelated")
VALUES = (0.01, 15.0)
"""H of a row that went wrong, nats."""
SHARES = (0.36, 0.6)
FEWEST = 20
"""Intervals of which a share is promised."""


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    began = time.perf_counter()
    print(f"{runs} runs a cell, seeds from {FIRST_SEED}")
    for part in (_rises, _falls, _deaths, _glitches, _forecasts):
        print("\n".join(part(range(FIRST_SEED, FIRST_SEED + runs))), flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def _table(*head: str) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _promised(*found: Promise) -> str:
    return f"\nPromised:\n\n{promises.table(found)}"


def _percent(values: Sequence[bool]) -> float:
    return 100 * float(np.mean(values))


def _onset(log: SyntheticRun) -> tuple[Onset | None, float]:
    """And the width of a bin, steps."""
    course = onset.bin_entropy(log.steps, log.entropy)
    assert course is not None
    return onset.find_onset(course, points_of(log)), course.width


def _rises(seeds: range) -> Iterator[str]:
    yield "\n## Explosions of an H that fell first\n"
    yield "Found / at or after the trough minus one bin / at or after it minus a tenth of the run /"
    yield "step held by the interval, %; median error, % of the run.\n"
    grid = list(product(LENGTHS, NOISES))
    yield from _table("shape", *(f"n{n} {noise}" for n, noise in grid))
    measured: dict[str, dict[str, float]] = {k: {} for k in ("found", "bin", "tenth", "held")}
    for shape in turning.RISES:
        row = []
        for n, noise in grid:
            of = _risen(shape, n, NOISES[noise], seeds)
            for name in measured:
                measured[name][f"{shape} n{n} {noise}"] = of[name]
            row.append("/".join(f"{of[name]:.0f}" for name in measured) + f"; {of['error']:.1f}")
        yield _row(shape, *row)
    yield _promised(
        at_least("found, %", measured["found"], 95.0),
        at_least("at or after the trough minus one bin, %", measured["bin"], 98.0),
        at_least("at or after it minus a tenth of the run, %", measured["tenth"], 98.0),
        at_least("interval holds the step, %", measured["held"], 90.0),
    )


def _risen(shape: str, n: int, noise: Noise, seeds: range) -> Mapping[str, float]:
    runs = [turning.rising_run(shape, seed, n, noise) for seed in seeds]
    all_found = [(run, *_onset(run.log)) for run in runs]
    found = [(run, at, bin_) for run, at, bin_ in all_found if at and at.kind == "explosion"]
    return {
        "found": 100 * len(found) / len(runs),
        "bin": _percent([at.step >= run.trough - bin_ for run, at, bin_ in found]),
        "tenth": _percent([at.step >= run.trough - n / 10 for run, at, _ in found]),
        "held": _percent([at.low <= (run.log.onset or 0) <= at.high for run, at, _ in found]),
        "error": float(
            np.median([100 * abs(at.step - (run.log.onset or 0)) / n for run, at, _ in found])
        ),
    }


def _falls(seeds: range) -> Iterator[str]:
    yield "\n## Width of the interval of a fall\n"
    yield "Median and 90th percentile in shares of the run; interval holds the step, %.\n"
    yield from _table("regime", "n", "noise", "median", "p90", "held")
    wide, held = {}, {}
    for name, (n, noise) in product(FALLS, cells.GRID):
        logs = [cells.REGIMES[name](seed, n, NOISES[noise]) for seed in seeds]
        found = [(log.onset or 0.0, at) for log in logs if (at := _onset(log)[0]) is not None]
        widths = [(at.high - at.low) / n for _, at in found]
        cell = f"{name} n{n} {noise}"
        p90, held[cell] = (
            np.percentile(widths, 90),
            _percent([a.low <= t <= a.high for t, a in found]),
        )
        if name in SHARP and n == 300:
            wide[cell] = float(p90)
        yield _row(name, n, noise, f"{np.median(widths):.2f}", f"{p90:.2f}", f"{held[cell]:.0f}")
    yield _promised(
        at_most("sharp falls, n 300: 90th percentile of the width", wide, 0.2),
        at_least("interval holds the step, %", held, 90.0),
    )


def _deaths(seeds: range) -> Iterator[str]:
    yield "\n## A reward that dies\n"
    yield "Found at the very step, % of runs; below, runs of the regimes of coverage.md, none of"
    yield "whose rewards dies.\n"
    yield from _table("R from then on", *(f"n{n} {noise}" for n, noise in cells.GRID))
    found: dict[str, float] = {}
    for death in turning.DEATHS:
        row = []
        for n, noise in cells.GRID:
            logs = [turning.dying_run(death, seed, n, NOISES[noise]) for seed in seeds]
            at = [(regime.reward_died(points_of(log)), log.onset) for log in logs]
            found[f"{death} n{n} {noise}"] = _percent([step == truth for step, truth in at])
            row.append(f"{found[f'{death} n{n} {noise}']:.0f}")
        yield _row(death, *row)
    alarms = {}
    for name, (n, noise) in product(cells.REGIMES, cells.GRID):
        logs = [cells.REGIMES[name](seed, n, NOISES[noise]) for seed in seeds]
        steps = [regime.reward_died(points_of(log)) for log in logs]
        alarms[f"{name} n{n} {noise}"] = _percent([step is not None for step in steps])
    yield _promised(
        at_least("found at the very step, %", found, 95.0),
        at_most("found where none dies, %", alarms, 3.0),
    )


def _glitches(seeds: range) -> Iterator[str]:
    yield "\n## Rows with an impossible H\n"
    yield "1% of the rows, single or in bursts of two or three. Runs whose verdict stays, %; the"
    yield "last column has the same rows left out instead.\n"
    kinds = list(product(VALUES, (False, True)))
    names = [f"H {value:g} {'bursts' if burst else 'single'}" for value, burst in kinds]
    yield from _table("regime", "n", "noise", *names, "left out")
    stays: dict[str, float] = {}
    false: dict[str, float] = {}
    for name, n, noise in product(GLITCHED, (300, 1000, 2000), NOISES):
        logs = [cells.REGIMES[name](seed, n, NOISES[noise]) for seed in seeds]
        words = [cells.judge_run(log).word for log in logs]
        cell = f"{name} n{n} {noise}"
        plain = [spikes.without_glitches(log.entropy) for log in logs]
        counts = map(spikes.glitch_count, (log.entropy for log in logs), plain)
        false[cell] = float(np.mean([*counts]))
        for (value, burst), kind in zip(kinds, names, strict=True):
            spoiled = [
                turning.add_glitches(log, seed, value, burst)
                for seed, log in zip(seeds, logs, strict=True)
            ]
            after = [cells.judge_run(log).word for log in spoiled]
            stays[f"{cell} {kind}"] = _percent([a == b for a, b in zip(after, words, strict=True)])
        left_out = [
            _without(log, turning.add_glitches(log, seed, VALUES[1], burst=True))
            for seed, log in zip(seeds, logs, strict=True)
        ]
        after = [cells.judge_run(log).word for log in left_out]
        same = _percent([a == b for a, b in zip(after, words, strict=True)])
        yield _row(name, n, noise, *(f"{stays[f'{cell} {k}']:.0f}" for k in names), f"{same:.0f}")
    yield _promised(
        at_least("verdict stays, %", stays, 95.0),
        at_most("values put back a run without any glitch", false, 0.2),
    )


def _without(log: SyntheticRun, spoiled: SyntheticRun) -> SyntheticRun:
    keep = log.entropy == spoiled.entropy
    return SyntheticRun(log.steps[keep], log.entropy[keep], log.reward[keep], log.onset)


def _forecasts(seeds: range) -> Iterator[str]:
    yield "\n## Forecasts where the law is exact\n"
    yield "Intervals given, % of runs / of these hold the truth, % / median half-width.\n"
    grid = list(product((300, 1000), NOISES, SHARES))
    yield from _table("path of H", *(f"n{n} {noise} from {share:.0%}" for n, noise, share in grid))
    held: dict[str, float] = {}
    for path in turning.PATHS:
        row, every = [], []
        for n, noise, share in grid:
            given = []
            for seed in seeds:
                log = turning.along(path, seed, n, NOISES[noise])
                rows = np.arange(n)
                whole = Cleaned(points_of(log), log.steps, log.entropy, rows, {}, {})
                found = forecast.forecast(whole, share)
                if found.low is not None and found.high is not None and found.truth is not None:
                    holds = found.low <= found.truth <= found.high
                    given.append((holds, (found.high - found.low) / 2))
            every += [holds for holds, _ in given]
            if len(given) >= FEWEST:
                held[f"{path} n{n} {noise} from {share:.0%}"] = _percent([h for h, _ in given])
            row.append(_given(given, len(seeds)))
        held[path] = _percent(every)
        yield _row(path, *row)
    yield _promised(
        at_least(f"interval holds the truth, %, cells with {FEWEST} and all of a path", held, 90.0)
    )


def _given(given: Sequence[tuple[bool, float]], runs: int) -> str:
    share = f"{100 * len(given) / runs:.0f}"
    if not given:
        return share
    half = float(np.median([half for _, half in given]))
    return f"{share} / {_percent([holds for holds, _ in given]):.0f} / ±{half:.2f}"


if __name__ == "__main__":
    main()
