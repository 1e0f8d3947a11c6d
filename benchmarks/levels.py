"""What the seeds of a level say of all seeds of its kind, held against levels that are known.

    python -m benchmarks.levels [levels per cell] [first seed]

Runs of a kind are made, written and judged once (`POOL` of them); a level draws 3, 5 or 10. Its
numbers are those that `harness fit-entropy-law` puts into `population` of law.json.

law: each seed has an a and a ceiling of its own, by rewards that are scaled and moved.
follows: each seed is, with a known probability, one whose reward follows the law.
onset: each seed has an onset from a known distribution; where it lies after the last step, the run
follows the law to its end. The runs with an onset have them evenly over their steps, and a seed is
the run whose own is the nearest, found as much earlier or later. In one cell a fifth of the seeds
diverge at a step of their own.

Prints Markdown, and what is promised; benchmarks/levels.md holds a dated result.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from scipy import stats

from harness.law import analysis
from harness.law.compare import groups
from harness.law.compare.groups import Member
from harness.law.population import levels
from harness.law.population_results import OverSeeds, Population, StepShare
from harness.law.reading_results import Unfinished
from harness.law.results import Bounded, Interval
from harness.testing import synthetic
from harness.testing.promises import at_least, table
from harness.testing.synthetic import HIGH, LOW, TRUE_A, TRUE_CEILING, Log

FIRST_SEED = 2_000_000
POOL = 200
SEEDS = (3, 5, 10)
STEPS = 300
"""Of runs with onsets."""
WANTED = 93.0
"""Percent of intervals that hold the truth, of the median cell."""
CEILING, A_SPREAD = 0.7, 0.07
"""Mean ceiling of a level; standard deviation of a over seeds, as a share of it."""


@dataclass
class Counted:
    """Intervals of one number in the levels of a cell."""

    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    asked: int = 0
    """How often the number was asked for: some levels have none."""

    def count(self, number: Interval | Bounded | None, truth: float) -> None:
        self.asked += 1
        if number is None:
            return
        low = -np.inf if number.low is None else number.low
        high = np.inf if number.high is None else number.high
        self.held.append(bool(low <= truth <= high))
        self.widths.append(high - low)

    @property
    def percent(self) -> float:
        return 100 * float(np.mean(self.held)) if self.held else float("nan")

    def __str__(self) -> str:
        if not self.held:
            return "none"
        given = f", given in {100 * len(self.held) / self.asked:.0f}%"
        lacking = given if len(self.held) < self.asked else ""
        width = float(np.median(self.widths))
        told = f"{width:.2g}" if np.isfinite(width) else "open"
        return f"{self.percent:.1f} ({told}{lacking})"


@dataclass(frozen=True)
class Cell:
    """Levels of one kind."""

    name: str
    draw: Callable[[Generator, int], tuple[list[Member], Mapping[str, float]]]
    """Of so many seeds: the runs, and what is true of them."""


def measure(cell: Cell, seeds: int, count: int, seed: int) -> dict[str, Counted]:
    rng = np.random.default_rng([seed, seeds])
    counted: dict[str, Counted] = {}
    for _ in range(count):
        members, truth = cell.draw(rng, seeds)
        (group,) = groups.group(members, pool_unlike=True).groups
        (described,) = levels.described([group], members)
        assert described.population is not None
        for name, number, true in _numbers(described.population, truth):
            counted.setdefault(name, Counted()).count(number, true)
    return counted


def _numbers(
    told: Population, truth: Mapping[str, float]
) -> Iterator[tuple[str, Interval | Bounded | None, float]]:
    """Those of which something is known to be true."""
    onset = told.onset
    numbers: dict[str, Interval | Bounded | None] = {
        "mean a": told.law.a.mean,
        "mean ceiling": told.law.ceiling.mean,
        "sd of a over seeds": told.law.a.between,
        "sd of ceilings over seeds": told.law.ceiling.between,
        "share that follows": told.follows.share,
        "share that follows, of the decided": told.follows.decided,
        "P(collapse before the end)": onset.before_end,
        "P(collapse before the middle)": _by(onset.incidence, (onset.last_step or 0) / 2),
        "median onset": onset.parametric.median,
    }
    yield from ((name, numbers[name], true) for name, true in truth.items() if name in numbers)
    for of, name in ((told.law.a, "a"), (told.law.ceiling, "ceiling")):
        yield from _of_seeds(of, name, truth)


def _of_seeds(
    of: OverSeeds, name: str, truth: Mapping[str, float]
) -> Iterator[tuple[str, Interval | None, float]]:
    for run in of.runs:
        true = truth.get(f"{name} of {run.seed}")
        if true is not None:
            yield f"{name} of a seed, alone", run.own, true
            yield f"{name} of a seed, pooled", run.pooled, true


def _by(points: Sequence[StepShare], step: float) -> Interval:
    at = [point for point in points if point.step <= step][-1]
    return Interval(at.value, at.low, at.high)


def _as_seed(member: Member, seed: int) -> Member:
    config = {**(member.identity.config or {}), "seed": seed}
    result = replace(member.result, run=str(seed), seed=seed)
    return replace(member, result=result, identity=replace(member.identity, config=config))


def _drawn(known: Sequence[Member], rng: Generator, seeds: int) -> list[Member]:
    places = rng.choice(len(known), size=seeds, replace=False)
    return [_as_seed(known[place], seed) for seed, place in enumerate(places, 1)]


def with_laws(known: Sequence[Member], spread: float) -> Cell:
    """Ceilings of seeds around CEILING, with this standard deviation; a independent of them."""

    def draw(rng: Generator, seeds: int) -> tuple[list[Member], Mapping[str, float]]:
        truth = {
            "mean a": TRUE_A, "sd of a over seeds": TRUE_A * A_SPREAD,
            "mean ceiling": CEILING, "sd of ceilings over seeds": spread,
        }  # fmt: skip
        made = []
        for member in _drawn(known, rng, seeds):
            factor, ceiling = rng.normal(1, A_SPREAD), rng.normal(CEILING, spread)
            seed = member.result.seed
            truth |= {f"a of {seed}": TRUE_A * factor, f"ceiling of {seed}": ceiling}
            made.append(_scaled(member, factor, ceiling - factor * TRUE_CEILING))
        return made, truth

    return Cell(f"spread {spread:g}", draw)


def _scaled(member: Member, factor: float, by: float) -> Member:
    """The run with rewards `factor` times as large, and higher by `by`."""

    def of(interval: Interval | None, more: float) -> Interval | None:
        if interval is None:
            return None
        ends = (interval.value, interval.low, interval.high)
        return Interval(*(factor * end + more for end in ends))

    run = member.result
    moved = replace(run, a=of(run.a, 0.0), b=of(run.b, by), ceiling=of(run.ceiling, by))
    return replace(member, result=moved)


def with_followers(law: Sequence[Member], other: Sequence[Member], share: float) -> Cell:
    def draw(rng: Generator, seeds: int) -> tuple[list[Member], Mapping[str, float]]:
        follow = rng.uniform(size=seeds) < share
        pairs = zip(_drawn(law, rng, seeds), _drawn(other, rng, seeds), follow, strict=True)
        names = ("share that follows", "share that follows, of the decided")
        return [one if yes else two for one, two, yes in pairs], dict.fromkeys(names, share)

    return Cell(f"{share:.0%} follow", draw)


class Distribution(Protocol):
    """A distribution of scipy's with its parameters."""

    def ppf(self, q: Any) -> Any: ...
    def cdf(self, x: Any) -> Any: ...
    def rvs(self, size: Any = ..., random_state: Any = ...) -> Any: ...


@dataclass(frozen=True)
class Onsets:
    """A distribution of onsets, scaled so that `before_end` of them come before the last step."""

    name: str
    shape: Distribution
    before_end: float

    @property
    def end(self) -> float:
        """The last step in its own unit."""
        return float(self.shape.ppf(self.before_end))

    def truth(self) -> dict[str, float]:
        return {
            "P(collapse before the end)": self.before_end,
            "P(collapse before the middle)": float(self.shape.cdf(self.end / 2)),
            "median onset": STEPS * float(self.shape.ppf(0.5)) / self.end,
        }


SHAPES: dict[str, Distribution] = {
    "log-normal, s = 0.25": stats.lognorm(0.25),
    "log-normal, s = 0.5": stats.lognorm(0.5),
    "Weibull, shape 4": stats.weibull_min(4),
    "uniform, 0.4 to 1.6": stats.uniform(0.4, 1.2),
}
BEFORE_END = (0.95, 0.7, 0.4)


@dataclass(frozen=True)
class Pools:
    """Runs for any distribution of onsets."""

    collapsing: Sequence[Member]
    """Number i has its onset at the share (i + 0.5) / their number of its steps."""
    lawful: Sequence[Member]

    def of(self, rng: Generator, at: float) -> Member:
        """A run whose onset is at the share `at` of its steps; above 1 it has none."""
        if at >= 1:
            return self.lawful[int(rng.integers(len(self.lawful)))]
        place = min(int(at * len(self.collapsing)), len(self.collapsing) - 1)
        member = self.collapsing[place]
        onset = member.result.onset
        if onset is None:
            return member
        by = STEPS * (at - (place + 0.5) / len(self.collapsing))
        moved = replace(onset, step=max(onset.step + by, 1.0))
        return replace(member, result=replace(member.result, onset=moved))


def with_onsets(pools: Pools, onsets: Onsets, diverging: float) -> Cell:
    def draw(rng: Generator, seeds: int) -> tuple[list[Member], Mapping[str, float]]:
        drawn = onsets.shape.rvs(size=seeds, random_state=rng) / onsets.end
        members = [_as_seed(pools.of(rng, at), seed) for seed, at in enumerate(drawn, 1)]
        ends = [rng.uniform(0.2, 1.0) if rng.uniform() < diverging else 1.0 for _ in members]
        cut = [
            member if end == 1 else _diverged(member, end * STEPS)
            for member, end in zip(members, ends, strict=True)
        ]
        return cut, onsets.truth() if max(ends) == 1 else {}

    more = f", {diverging:.0%} diverge" if diverging else ""
    return Cell(f"{onsets.name}; {onsets.before_end:.0%} before the end{more}", draw)


def _diverged(member: Member, step: float) -> Member:
    """The run as it stands if it diverges at the step: an onset after it has not been seen."""
    run = member.result
    seen = run.onset if run.onset is not None and run.onset.step < step else None
    ended = Unfinished("failed", "diverged", 70, int(step), None)
    return replace(
        member,
        result=replace(run, onset=seen, unfinished=ended),
        replicate=replace(member.replicate, last_step=float(int(step))),
    )


def runs(folder: Path, made: Callable[[int], Log], seeds: Sequence[int]) -> tuple[Member, ...]:
    """Judged runs, in the order of their seeds."""
    for seed in seeds:
        synthetic.write_run(folder / f"{seed:09d}", synthetic.rows(made(seed)), seed=seed)
    return analysis.members([folder])


def cells(folder: Path, first: int) -> Iterator[tuple[str, Cell]]:
    """Kind and cell; the runs are of seeds from `first` on."""

    def pool(name: str, made: Callable[[int], Log]) -> tuple[Member, ...]:
        return runs(folder / name, made, range(first, first + POOL))

    known = {
        "lawful, 300 steps": pool("300", lambda seed: synthetic.lawful(seed, 300, LOW)),
        "lawful, 60 steps": pool("60", lambda seed: synthetic.lawful(seed, 60, LOW)),
        "collapsed, 600 steps": pool("600", lambda seed: synthetic.kink(seed, 600, LOW)),
    }
    for kind, members in known.items():
        for spread in (0.02, 0.045):
            yield f"law: {kind}", with_laws(members, spread)
    pairs = {
        "300 steps": (
            known["lawful, 300 steps"],
            pool("hack300", lambda seed: synthetic.hack(seed, 300, LOW)),
        ),
        "100 steps, noisy": (
            pool("100", lambda seed: synthetic.lawful(seed, 100, HIGH)),
            pool("hack100", lambda seed: synthetic.hack(seed, 100, HIGH)),
        ),
    }
    for kind, (law, none) in pairs.items():
        for share in (1.0, 0.8, 0.5, 0.2):
            yield f"follows: {kind}", with_followers(law, none, share)

    def kinked(seed: int) -> Log:
        return synthetic.kink(seed, STEPS, LOW, at=(seed - first + 0.5) / POOL)

    pools = Pools(
        pool("kink", kinked), pool("free", lambda seed: synthetic.kink(seed, STEPS, LOW, at=2.0))
    )
    for name, shape in SHAPES.items():
        for before in BEFORE_END:
            yield "onset", with_onsets(pools, Onsets(name, shape, before), 0.0)
    for before in BEFORE_END:
        name = next(iter(SHAPES))
        yield "onset", with_onsets(pools, Onsets(name, SHAPES[name], before), 0.2)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FIRST_SEED
    began = time.perf_counter()
    print(f"{count} levels a cell, {POOL} runs of a kind, seeds from {first}\n")
    print("| kind | cell | number | 3 seeds | 5 seeds | 10 seeds |\n|" + "---|" * 6, flush=True)
    every: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, cell in cells(Path(folder), first):
            of_seeds = {seeds: measure(cell, seeds, count, first) for seeds in SEEDS}
            for name in of_seeds[SEEDS[0]]:
                counted = {seeds: of_seeds[seeds][name] for seeds in SEEDS}
                told = " | ".join(str(counted[seeds]) for seeds in SEEDS)
                print(f"| {kind} | {cell.name} | {name} | {told} |", flush=True)
                for seeds, one in counted.items():
                    if one.held:
                        where = f"{kind}; {cell.name}; {seeds} seeds"
                        every.setdefault(name, {})[where] = one.percent
    print(f"\nPromised:\n\n{_promised(every)}")
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


def _promised(every: Mapping[str, Mapping[str, float]]) -> str:
    promises = []
    for name, by_cell in every.items():
        if not name.endswith("alone"):
            median = {f"median of {len(by_cell)} cells": float(np.median([*by_cell.values()]))}
            promises.append(at_least(f"{name}: intervals hold, %, median", median, WANTED))
            promises.append(at_least(f"{name}: intervals hold, %, worst cell", by_cell, 90.0))
    return table(promises)


if __name__ == "__main__":
    main()
