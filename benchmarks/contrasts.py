"""Contrasts of whole sweeps whose ceilings are known: what is decided, and how often wrongly.

    python -m benchmarks.contrasts [sweeps per cell] [first seed]

Where no ceilings differ, a cell has as many contrasts as others have sweeps.

Lawful runs have 300 steps and H from 1 to .05, collapsed ones follow the law until half way, where
H falls away and R with it (synthetic.kink); both have low noise. The seeds of a level have ceilings
of their own around that of the level (`spread`, a standard deviation). The runs go through the law
stage and into sweeps as harness/testing/sweeps.py says; groups and contrasts are those that
`harness fit-entropy-law` makes. Prints Markdown and what is promised; benchmarks/contrasts.md holds
a dated result.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.law.compare.groups import Member
from harness.law.compare.quantities import CONTRASTED
from harness.law.group_results import GroupResult
from harness.testing import sweeps, synthetic
from harness.testing.promises import at_least, at_most, table
from harness.testing.sweeps import LevelCeilings, share
from harness.testing.synthetic import LOW, SyntheticRun

FIRST_SEED = 2_000_000
POOL = 400
"""Runs of a kind, from which sweeps are drawn."""
SPREAD = 0.02
UNLIKE = (0.012, 0.045)
"""The smallest and the largest spread of seeds that real levels showed."""
LAWFUL, COLLAPSED, LONGER = "lawful", "collapsed, 300 steps", "collapsed, 600 steps"
KINDS: dict[str, Callable[[int], SyntheticRun]] = {
    LAWFUL: lambda seed: synthetic.lawful(seed, 300, LOW),
    COLLAPSED: lambda seed: synthetic.kink(seed, 300, LOW),
    LONGER: lambda seed: synthetic.kink(seed, 600, LOW),
}


@dataclass(frozen=True)
class Cell:
    """Sweeps of one kind."""

    kind: str
    levels: tuple[LevelCeilings, ...]
    seeds: int

    @property
    def name(self) -> str:
        ceilings = "/".join(f"{level.ceiling:g}" for level in self.levels)
        spreads = "/".join(f"{level.spread:g}" for level in self.levels)
        alike = len({level.spread for level in self.levels}) == 1
        spread = f"{self.levels[0].spread:g}" if alike else spreads
        return f"{self.kind} | {ceilings} | {spread} | {self.seeds}"

    def sweeps(self, count: int) -> int:
        """`count` where there is something to find, else as many as have `count` contrasts."""
        pairs = math.comb(len(self.levels), 2)
        alike = len({level.ceiling for level in self.levels}) == 1
        return math.ceil(count / pairs) if alike else count

    def apart(self, one: int, other: int) -> float:
        """The true difference of two levels' ceilings."""
        return round(abs(self.levels[one].ceiling - self.levels[other].ceiling), 6)


@dataclass
class Counted:
    """What the sweeps of a cell came to; each entry is one contrast, one group or one sweep."""

    decided: dict[float, list[bool]] = field(default_factory=dict)
    """True difference of the ceilings -> whether it was called different."""
    covered: dict[float, list[bool]] = field(default_factory=dict)
    """The same -> whether the interval of the difference held it."""
    means_covered: list[bool] = field(default_factory=list)
    comparable: dict[str, list[bool]] = field(default_factory=dict)
    """a, ceiling -> whether it could be compared at all."""
    wrong_ceiling: list[bool] = field(default_factory=list)
    """Whether a sweep had any false difference of ceilings."""
    wrong_other: list[bool] = field(default_factory=list)
    """The same of any other quantity: only ceilings are ever made to differ."""


def cells() -> Iterator[Cell]:
    """First those with something to find, then those without."""

    def of(ceilings: Sequence[float], spread: float = SPREAD) -> tuple[LevelCeilings, ...]:
        return tuple(LevelCeilings(ceiling, spread) for ceiling in ceilings)

    for seeds in (3, 5):
        yield Cell(LAWFUL, of((0.6, 0.65, 0.7)), seeds)
        yield Cell(LAWFUL, of((0.6, 0.65, 0.65)), seeds)
        yield Cell(LAWFUL, of((0.6, 0.7, 0.7)), seeds)
        yield Cell(COLLAPSED, of((0.6, 0.7)), seeds)
        yield Cell(LONGER, of((0.6, 0.7)), seeds)
    for seeds in (3, 5):
        for levels in (2, 3, 4):
            yield Cell(LAWFUL, of((0.7,) * levels), seeds)
        low, high = UNLIKE
        for spreads in ((low, high), (low, high, high), (low, low, high), (low, low, high, high)):
            yield Cell(LAWFUL, tuple(LevelCeilings(0.7, spread) for spread in spreads), seeds)
        yield Cell(LONGER, of((0.7, 0.7, 0.7)), seeds)


def measure(cell: Cell, known: Sequence[Member], count: int, seed: int) -> Counted:
    rng, counted = np.random.default_rng(seed), Counted()
    for _ in range(count):
        groups = sweeps.compare_levels(sweeps.sweep(known, rng, cell.levels, cell.seeds))
        _count(cell, groups, counted)
    return counted


def _count(cell: Cell, groups: Sequence[GroupResult], counted: Counted) -> None:
    for group, level in zip(groups, cell.levels, strict=True):
        low, high = group.ceiling.low, group.ceiling.high
        known = low is not None and high is not None
        counted.means_covered.append(known and bool(low <= level.ceiling <= high))  # type: ignore[operator]
    wrong = dict.fromkeys(CONTRASTED, False)
    for quantity in CONTRASTED:
        for one, other, contrast in sweeps.of_quantity(groups, quantity):
            apart, differs = cell.apart(one, other), contrast.decision == "differs"
            wrong[quantity] |= differs and (quantity != "ceiling" or apart == 0)
            if quantity in ("a", "ceiling"):
                comparable = contrast.decision != "not_comparable"
                counted.comparable.setdefault(quantity, []).append(comparable)
            if quantity == "ceiling":
                truth = cell.levels[one].ceiling - cell.levels[other].ceiling
                low, high = contrast.low, contrast.high
                counted.decided.setdefault(apart, []).append(differs)
                if low is not None and high is not None:
                    counted.covered.setdefault(apart, []).append(low <= truth <= high)
    counted.wrong_ceiling.append(wrong.pop("ceiling"))
    counted.wrong_other.append(any(wrong.values()))


HEAD = "runs | ceilings | spread | seeds a level | differences called different, %"
HEAD += " | intervals of differences hold, % | of means, % | ceilings, a comparable, %"
HEAD += " | sweeps with a false difference of ceilings, % | of anything else, %"


def _line(cell: Cell, counted: Counted) -> str:
    decided = ", ".join(f"{d:g}: {share(c):.1f}" for d, c in sorted(counted.decided.items()))
    covered = share([one for every in counted.covered.values() for one in every])
    shares = (covered, share(counted.means_covered), share(counted.comparable["ceiling"]))
    slopes = share(counted.comparable["a"])
    wrong = "-" if 0.0 not in counted.decided else f"{share(counted.wrong_ceiling):.1f}"
    told = " | ".join(f"{value:.1f}" for value in shares)
    other = f"{share(counted.wrong_other):.1f}"
    return f"| {cell.name} | {decided} | {told}, {slopes:.1f} | {wrong} | {other} |"


def _promised(measured: dict[Cell, Counted]) -> str:
    def power(kind: str, seeds: int, apart: float, ceilings: int) -> dict[str, float]:
        return {
            _plain(cell): share(counted.decided[apart])
            for cell, counted in measured.items()
            if (cell.kind, cell.seeds) == (kind, seeds)
            and apart in counted.decided
            and len({level.ceiling for level in cell.levels}) == ceilings
        }

    collapsed = {c: m for c, m in measured.items() if c.kind in (COLLAPSED, LONGER)}
    false = {_plain(c): share(m.decided[0.0]) for c, m in measured.items() if 0.0 in m.decided}
    told = {_plain(c): share(m.comparable["ceiling"]) for c, m in collapsed.items()}
    slopes = {_plain(c): share(m.comparable["a"]) for c, m in collapsed.items()}
    held = {_plain(c): share(m.means_covered) for c, m in collapsed.items()}
    return table(
        [
            at_least("3 seeds, three ceilings .05 apart: .1 is decided, %",
                     power(LAWFUL, 3, 0.1, 3), 85.0),
            at_least("3 seeds, three ceilings .05 apart: .05 is decided, %",
                     power(LAWFUL, 3, 0.05, 3), 40.0),
            at_least("3 seeds, one level .1 from the others: decided, %",
                     power(LAWFUL, 3, 0.1, 2), 85.0),
            at_least("3 seeds, one level .05 from the others: decided, %",
                     power(LAWFUL, 3, 0.05, 2), 40.0),
            at_least("collapsed, 600 steps, 5 seeds: .1 is decided, %",
                     power(LONGER, 5, 0.1, 2), 80.0),
            at_least("collapsed, 300 steps, 5 seeds: .1 is decided, %",
                     power(COLLAPSED, 5, 0.1, 2), 80.0),
            at_least("collapsed: intervals of mean ceilings hold, %", held, 93.0),
            at_least("collapsed: ceilings are comparable, %", told, 99.0),
            at_least("collapsed: a are comparable, %", slopes, 90.0),
            at_most("equal ceilings called different, %", false, 4.0),
        ]
    )  # fmt: skip


def _plain(cell: Cell) -> str:
    return cell.name.replace(" | ", "; ")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FIRST_SEED
    began, measured = time.perf_counter(), {}
    print(f"{count} sweeps a cell, {POOL} runs of a kind, seeds from {first}\n")
    print(f"| {HEAD} |\n|" + "---|" * 10, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        known = {
            kind: sweeps.runs(Path(folder) / str(place), made, range(first, first + POOL))
            for place, (kind, made) in enumerate(KINDS.items())
        }
    for cell in cells():
        measured[cell] = measure(cell, known[cell.kind], cell.sweeps(count), first)
        print(_line(cell, measured[cell]), flush=True)
    print(f"\nPromised:\n\n{_promised(measured)}")
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
