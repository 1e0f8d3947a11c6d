"""Levels whose truth is known, of which benchmarks/levels.py asks what their seeds say.

Runs of a kind are made, written and judged once (`POOL` of them); a level draws some of them.

law: each seed has an a and a ceiling of its own, by rewards that are scaled and moved.
follows: each seed is, with a known probability, one whose reward follows the law.
onset: each seed has an onset from a known distribution; where it lies after the last step, the run
follows the law to its end. The runs with an onset have them evenly over their steps, and a seed is
the run whose own is the nearest, found as much earlier or later. In one cell a fifth of the seeds
diverge at a step of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from numpy.random import Generator
from scipy import stats

from harness.law import analysis
from harness.law.compare.groups import Member
from harness.law.result_parts import UnfinishedRun
from harness.law.results import Interval
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import HIGH, LOW, TRUE_A, TRUE_CEILING, SyntheticRun

POOL = 200
STEPS = 300
"""Of runs with onsets."""
CEILING, A_SPREAD = 0.7, 0.07
"""Mean ceiling of a level; standard deviation of a over seeds, as a share of it."""


@dataclass(frozen=True)
class Cell:
    """Levels of one kind."""

    name: str
    draw: Callable[[Generator, int], tuple[list[Member], Mapping[str, float]]]
    """Of so many seeds: the runs, and what is true of them."""


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
    ended = UnfinishedRun("failed", "diverged", 70, int(step), None)
    return replace(
        member,
        result=replace(run, onset=seen, unfinished=ended),
        replicate=replace(member.replicate, last_step=float(int(step))),
    )


def runs(
    folder: Path, made: Callable[[int], SyntheticRun], seeds: Sequence[int]
) -> tuple[Member, ...]:
    """Judged runs, in the order of their seeds."""
    for seed in seeds:
        run_folders.write_run(folder / f"{seed:09d}", synthetic.rows(made(seed)), seed=seed)
    return analysis.load_members([folder])


def cells(folder: Path, first: int) -> Iterator[tuple[str, Cell]]:
    """Kind and cell; the runs are of seeds from `first` on."""

    def pool(name: str, made: Callable[[int], SyntheticRun]) -> tuple[Member, ...]:
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

    def kinked(seed: int) -> SyntheticRun:
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
