"""How often the law is said of a reward that no law made, and denied one that a law made.

    python -m benchmarks.misfit [runs per cell]

Runs of harness/testing/misfits.py go through the law stage in memory, two cells at once. Prints
Markdown tables, and after each what was promised and whether it is reached; benchmarks/misfit.md
holds a dated result.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat
from typing import Any

import numpy as np

from harness.law.estimate import ceiling, identifiability, rivals
from harness.law.results import VERDICTS, Interval
from harness.testing import cells, misfits, promises
from harness.testing.misfits import MISFITS, PATHS, SCATTERS, USUAL
from harness.testing.promises import CLAIMED, HOLDS, Promise

FIRST_SEED = 5_000_000
"""Rules were tried out on seeds below 100,000."""
LENGTHS = (60, 100, 300, 1000)
WITH_UNTIL = ("line beside spent H",)
"""Rewards that follow H at no time: `holds_until_onset` is false of them as well."""
FALSE_HOLDS: dict[str, Mapping[int, float]] = {
    "jump up": {100: 10, 300: 10, 1000: 10},
    "drop": {100: 20, 300: 10, 1000: 10},
    "floor": {100: 10, 300: 10, 1000: 10},
    "cap": {100: 10, 300: 10, 1000: 10},
    "lag": {100: 5, 300: 5, 1000: 5},
    "bounce": {100: 5, 300: 5, 1000: 5},
    "plateau": {100: 10, 300: 10, 1000: 10},
    "line beside spent H": {100: 15, 300: 15, 1000: 15},
}
"""Per cent of runs by length, at most."""
FORMS = {"law": misfits.lawful, "line in H": misfits.linear_in_h}
FALLS = (misfits.high, misfits.half, misfits.even, misfits.line, misfits.late)


@dataclass(frozen=True)
class Cell:
    """One kind of run at one length; percentages of runs."""

    name: str
    n: int
    words: Mapping[str, float]
    denied: float
    """Has `misfit` among its reasons."""

    def share(self, words: Sequence[str]) -> float:
        return sum(self.words.get(word, 0.0) for word in words)


@dataclass(frozen=True)
class Slope:
    """The interval of a over lawful runs of one kind; percentages of runs."""

    name: str
    n: int
    covers: float
    above_zero: float
    identified: float
    half_width: float
    """Median, in units of a, which is .25."""


def of_misfit(name: str, n: int, runs: int) -> Cell:
    return _judged(name, n, *MISFITS[name], USUAL, runs)


def of_law(path: str, scatter: str, n: int, runs: int) -> Cell:
    return _judged(f"{path}, {scatter}", n, PATHS[path], misfits.lawful, SCATTERS[scatter], runs)


def of_form(form: str, n: int, runs: int) -> Cell:
    """H from 1.8 to .1: a fall of 1.7 nats."""
    return _judged(form, n, misfits.deep, FORMS[form], USUAL, runs)


def _judged(
    name: str,
    n: int,
    path: misfits.Path,
    reward: misfits.Reward,
    scatter: misfits.ScatterNoise,
    runs: int,
) -> Cell:
    made = (misfits.make(FIRST_SEED + s, n, path, reward, scatter) for s in range(runs))
    found = [cells.judge_run(log) for log in made]
    counts = Counter(verdict.word for verdict in found)
    denied = sum("misfit" in verdict.reasons for verdict in found)
    return Cell(name, n, {w: 100 * k / runs for w, k in counts.items()}, 100 * denied / runs)


def slope(path: str, scatter: str, n: int, runs: int) -> Slope:
    """Of lawful runs, whatever their verdict."""
    made = (
        misfits.make(FIRST_SEED + s, n, PATHS[path], misfits.lawful, SCATTERS[scatter])
        for s in range(runs)
    )
    fits = [identifiability.fit(cells.points_of(log)) for log in made]
    a = [fitted.spread.a for fitted in fits if fitted.spread is not None]
    return Slope(
        f"{path}, {scatter}",
        n,
        100 * float(np.mean([i.low <= misfits.A <= i.high for i in a])),
        100 * float(np.mean([i.low > 0 for i in a])),
        100 * float(np.mean([identifiability.judge_identifiability(fitted).a for fitted in fits])),
        float(np.median([(i.high - i.low) / 2 for i in a])),
    )


@dataclass(frozen=True)
class Ceiling:
    """The reward at H = 0 where one curve made R, over one kind of H; percentages of runs."""

    name: str
    n: int
    over_forms: float
    """Of intervals averaged over curves, that hold it."""
    of_law: float
    """Of the law's own."""
    half_width: float
    """Median, averaged over curves, in units of reward."""


def ceiling_of(path: misfits.Path, form: str, n: int, runs: int) -> Ceiling:
    reward, truth = misfits.FORMS[form]
    averaged, own = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        log = misfits.make(seed, n, path, reward, USUAL)
        fitted = identifiability.fit(cells.points_of(log))
        found = ceiling.average_over_forms(fitted, rivals.compare(fitted.points), None)
        if found is not None and fitted.spread is not None:
            averaged.append(Interval(found.value, found.low, found.high))
            own.append(fitted.spread.ceiling)
    return Ceiling(
        f"{form}, {path.__name__}",
        n,
        cells.coverage_percent(averaged, truth),
        cells.coverage_percent(own, truth),
        float(np.median([(i.high - i.low) / 2 for i in averaged])),
    )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    began = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        lawless = list(pool.map(of_misfit, *_columns(MISFITS, LENGTHS), repeat(runs)))
        kinds = list(_columns(PATHS, SCATTERS, LENGTHS))
        lawful = list(pool.map(of_law, *kinds, repeat(runs)))
        forms = list(pool.map(of_form, *_columns(FORMS, LENGTHS), repeat(runs)))
        slopes = list(pool.map(slope, *kinds, repeat(runs)))
        ends = list(pool.map(ceiling_of, *_columns(FALLS, misfits.FORMS, LENGTHS), repeat(runs)))
    print(f"{runs} runs a cell, seeds from {FIRST_SEED}\n")
    _print_words("Rewards that no law made", lawless, _of_lawless(lawless))
    _print_words("Laws", lawful, _of_lawful(lawful))
    _print_words("Forms, H from 1.8 to .1", forms, _of_forms(forms))
    _print_slopes(slopes)
    _print_ceilings(ends)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def _columns(*axes: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The product of the axes, as one column of arguments each."""
    return zip(*product(*axes), strict=True)


def _of_lawless(measured: Sequence[Cell]) -> list[Promise]:
    found = []
    for name, bounds in FALSE_HOLDS.items():
        words = (*CLAIMED, "holds_until_onset") if name in WITH_UNTIL else CLAIMED
        for bound in sorted(set(bounds.values())):
            said = {
                f"n {c.n}": c.share(words)
                for c in measured
                if c.name == name and bounds.get(c.n) == bound
            }
            found.append(promises.at_most(f"{name}: said to follow H, %", said, bound))
    return found


def _of_lawful(measured: Sequence[Cell]) -> list[Promise]:
    def denied(cells: Sequence[Cell]) -> dict[str, float]:
        return {f"{c.name} n {c.n}": c.denied for c in cells}

    usual = [c for c in measured if "sticky" not in c.name and "slight" not in c.name]
    sticky = [c for c in measured if "sticky" in c.name and "slight" not in c.name]
    slight = [c for c in measured if "slight" in c.name]
    fails = {f"{c.name} n {c.n}": c.share(["fails"]) for c in slight}
    return [
        promises.at_most("denied by the test of fit, %", denied(usual), 2),
        promises.at_most("the same, AR .9 on H, %", denied(sticky), 6),
        promises.at_most("the same where exp(H) hardly moves, %", denied(slight), 10),
        promises.at_most("`fails` there, for whatever reason, %", fails, 10),
    ]


def _of_forms(measured: Sequence[Cell]) -> list[Promise]:
    def said(form: str, words: Sequence[str]) -> dict[str, float]:
        return {f"n {c.n}": c.share(words) for c in measured if c.name == form and c.n >= 300}

    return [
        promises.at_most("line in H, n >= 300: holds, %", said("line in H", ["holds"]), 10),
        promises.at_most("law, n >= 300: linear, %", said("law", ["linear"]), 2),
        promises.at_least("law, n >= 300: holds, form told or open, %", said("law", HOLDS), 90),
    ]


def _print_words(title: str, measured: Sequence[Cell], kept: Sequence[Promise]) -> None:
    print(f"\n## {title}\n\n{' / '.join(VERDICTS)}, %; in brackets, with `misfit` as a reason.\n")
    print("| run | " + " | ".join(f"n {n}" for n in LENGTHS) + " |\n|" + "---|" * 5)
    for name in dict.fromkeys(c.name for c in measured):
        row = [c for c in measured if c.name == name]
        shares = ["/".join(f"{c.words.get(w, 0):.0f}" for w in VERDICTS) for c in row]
        text = [f"{s} ({c.denied:.0f})" for s, c in zip(shares, row, strict=True)]
        print(f"| {name} | " + " | ".join(text) + " |")
    print(f"\nPromised:\n\n{promises.table(kept)}")


def _print_slopes(measured: Sequence[Slope]) -> None:
    print("\n## Intervals of a\n\nCovers the truth / lies above 0 / a identified, %; half-width.\n")
    print("| run | " + " | ".join(f"n {n}" for n in LENGTHS) + " |\n|" + "---|" * 5)
    for name in dict.fromkeys(s.name for s in measured):
        row = [s for s in measured if s.name == name]
        text = [
            f"{s.covers:.0f}/{s.above_zero:.0f}/{s.identified:.0f}; {s.half_width:.3f}" for s in row
        ]
        print(f"| {name} | " + " | ".join(text) + " |")
    early = [s for s in measured if s.name.startswith("early") and s.n in (100, 300)]
    early = [s for s in early if "sticky" not in s.name]
    above = {f"{s.name} n {s.n}": s.above_zero for s in early}
    covers = {f"{s.name} n {s.n}": s.covers for s in early}
    kept = [
        promises.at_least("early fall: interval of a above 0, %", above, 95),
        promises.at_least("early fall: interval covers, %", covers, 91),
    ]
    print(f"\nPromised:\n\n{promises.table(kept)}")


def _print_ceilings(measured: Sequence[Ceiling]) -> None:
    print("\n## The reward at H = 0, by the curve that made R and the path of H\n")
    print("Intervals over curves that hold it, (the law's own), %; half-width.\n")
    print("| run | " + " | ".join(f"n {n}" for n in LENGTHS) + " |\n|" + "---|" * 5)
    for name in dict.fromkeys(m.name for m in measured):
        row = [m for m in measured if m.name == name]
        text = [f"{m.over_forms:.0f} ({m.of_law:.0f}); {m.half_width:.3f}" for m in row]
        print(f"| {name} | " + " | ".join(text) + " |")
    covers = {f"{m.name} n {m.n}": m.over_forms for m in measured}
    kept = [promises.at_least("ceiling over curves: covers, %", covers, 90)]
    print(f"\nPromised:\n\n{promises.table(kept)}")


if __name__ == "__main__":
    main()
