"""Error rates of a study's verdict, and what the seeds that it asks for are worth.

    python -m benchmarks.study_verdicts [studies a cell]

Pairs are drawn whose true difference is known and judged by harness.law.compare.links, as `harness
study` judges them; every link states "more". Differences and their standard deviation over pairs,
the spread, are in margins. Shapes are scaled to the same spread: t3 is Student's t of 3 degrees of
freedom, a tail is an exponential's, towards "more" or away from it. An undecided study is run
again with the pairs it asks for: anew, and with the first pairs kept, as more seeds do. Then arms
that learnt nothing, and the highest of several arms that are all alike, against one arm or the
highest of others. Prints Markdown, shares with their 95% intervals by Wilson;
benchmarks/study_verdicts.md holds a dated result, also of benchmarks/study_looks.py."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from scipy import stats

from harness.law.compare import links, study_verdict
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.link_result import UNDECIDED, VERDICTS
from harness.law.compare.links import Earlier
from harness.law.results import Floats
from harness.records.study_file import Link

FIRST_SEED = 6_000_000
MARGIN = 0.05
PAIRS, SPREADS, TRUTHS = (3, 5, 10, 20), (0.6, 1.2), (-1.0, 0.0, 1.0, 2.0)
ALL_TRUE = (1.0, 1.0, 1.0, 1.0)
ONE_FALSE = (1.0, 1.0, 1.0, 0.0)
PLAINLY_BUT_ONE = (2.0, 2.0, 2.0, 0.0)
CHOICES = ((1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (3, 3), (8, 8))
SHAPES: Mapping[str, Callable[[Generator, int], Floats]] = {
    "normal": lambda rng, count: rng.standard_normal(count),
    "t3": lambda rng, count: rng.standard_t(3, count) / 3**0.5,
    "tail towards": lambda rng, count: rng.exponential(size=count) - 1,
    "tail away": lambda rng, count: 1 - rng.exponential(size=count),
}


@dataclass(frozen=True)
class Cell:
    """Studies of one kind; a truth is the true difference of a link, in margins."""

    pairs: int
    spread: float
    truths: tuple[float, ...]
    shape: str = "normal"

    def drawn(self, rng: Generator, pairs: int) -> list[list[float]]:
        """The differences of each link."""
        rows = [t + self.spread * SHAPES[self.shape](rng, pairs) for t in self.truths]
        return [[MARGIN * float(value) for value in row] for row in rows]

    def rng(self) -> Generator:
        return np.random.default_rng([FIRST_SEED, self.pairs])


@dataclass(frozen=True)
class Again:
    """The outcome of the undecided studies of a cell."""

    asked: list[int]
    anew: Counter[str]
    kept: Counter[str]
    """Verdicts with the first pairs among those asked for."""
    at_last: Counter[str]
    """Verdicts of all studies: the first, or where it was undecided the one with the pairs kept."""


@dataclass(frozen=True)
class Study:
    """A study judged once."""

    word: str
    needed: int | None
    seen: Earlier
    """Its pairs, for a later look."""


def judged(
    rows: Sequence[Sequence[float]],
    earlier: Sequence[Earlier] = (),
    most: int | None = None,
    gains: Mapping[str, Sequence[float]] | None = None,
) -> Study:
    """Judge a study whose links all decide; `earlier`: the looks before."""
    names = [f"link {number}" for number in range(len(rows))]
    observed = [
        LinkObservations(
            Link(name, "gain", "arm", "other", "more", MARGIN),
            dict(enumerate(row)),
            gains=gains or {},
        )
        for name, row in zip(names, rows, strict=True)
    ]
    before = {name: [pairs for look in earlier for pairs in look[name]] for name in names}
    judgements = links.judge_links(observed, names, before, most)
    return Study(
        study_verdict.verdict(judgements, names),
        study_verdict.seeds_needed(judgements, names),
        {one.link.name: [one.pairs] for one in observed},
    )


def verdicts(cell: Cell, studies: int) -> Counter[str]:
    rng = cell.rng()
    return Counter(judged(cell.drawn(rng, cell.pairs)).word for _ in range(studies))


def again(cell: Cell, studies: int) -> Again:
    """A study that asks for no number stays undecided."""
    rng, made = cell.rng(), Again([], Counter(), Counter(), Counter())
    for _ in range(studies):
        first = cell.drawn(rng, cell.pairs)
        look = judged(first)
        word = look.word
        if word == UNDECIDED:
            pairs = look.needed or cell.pairs
            more = cell.drawn(rng, pairs - cell.pairs) if pairs > cell.pairs else []
            kept = [old + new for old, new in zip(first, more, strict=True)] if more else first
            word = judged(kept, [look.seen]).word
            made.asked.append(pairs)
            made.anew[judged(cell.drawn(rng, pairs)).word] += 1
            made.kept[word] += 1
        made.at_last[word] += 1
    return made


def share(hits: int, of: int) -> str:
    """Return the share in per cent, with its interval."""
    within = stats.binomtest(hits, of).proportion_ci(method="wilson")
    return f"{100 * hits / of:.1f} ({100 * within.low:.1f}-{100 * within.high:.1f})"


def of_one_link(shapes: Sequence[str], truths: Sequence[float], studies: int) -> Iterator[str]:
    named = [f"{shape}: {word} %" for shape, word in product(shapes, VERDICTS)]
    yield head("true", "pairs", "spread", *named)
    for truth, pairs, spread in product(truths, PAIRS, SPREADS):
        counts = [verdicts(Cell(pairs, spread, (truth,), shape), studies) for shape in shapes]
        shares = [share(words[word], studies) for words, word in product(counts, VERDICTS)]
        yield row(f"{truth:g}", pairs, spread, *shares)


def of_four_links(studies: int) -> Iterator[str]:
    yield head("true", "pairs", "spread", *(f"{word} %" for word in VERDICTS))
    kinds = (ALL_TRUE, ONE_FALSE, PLAINLY_BUT_ONE)
    for truths, pairs, spread in product(kinds, PAIRS[1:], SPREADS):
        counts = verdicts(Cell(pairs, spread, truths), studies)
        yield row(_named(truths), pairs, spread, *(share(counts[w], studies) for w in VERDICTS))


def of_seeds_needed(studies: int) -> Iterator[str]:
    yield head(
        *("true", "pairs", "spread", "undecided", "asks for, median", "decided anew %"),
        *("decided, first pairs kept %", *(f"at last {word} %" for word in VERDICTS[:3])),
    )
    kinds = ((0.0,), (0.5,), (1.0,), ALL_TRUE, ONE_FALSE)
    for truths, pairs, spread in product(kinds, PAIRS[:3], SPREADS):
        outcome = again(Cell(pairs, spread, truths), studies)
        count = len(outcome.asked)
        asked = round(float(np.median(outcome.asked))) if count else "-"
        decided = (count - words[UNDECIDED] for words in (outcome.anew, outcome.kept))
        yield row(
            *(_named(truths), pairs, spread, count, asked),
            *(share(number, count) if count else "-" for number in decided),
            *(share(outcome.at_last[word], studies) for word in VERDICTS[:3]),
        )


def of_learning(studies: int) -> Iterator[str]:
    """Two arms that gain alike, by so many margins; their seeds spread by half a margin."""
    yield head("both gain", "pairs", *(f"{word} %" for word in VERDICTS))
    for gain, pairs in product((0.0, 0.5, 1.0, 2.0, 4.0), PAIRS[:3]):
        rng = np.random.default_rng([FIRST_SEED, 4, pairs])
        counts: Counter[str] = Counter()
        for _ in range(studies):
            arm, other = MARGIN * (gain + 0.5 * rng.standard_normal((2, pairs)))
            gains = {"arm": list(arm), "other": list(other)}
            counts[judged([list(arm - other)], gains=gains).word] += 1
        yield row(f"{gain:g}", pairs, *(share(counts[word], studies) for word in VERDICTS))


def of_best(studies: int) -> Iterator[str]:
    """Arms that are all alike; each has seeds of its own spread."""
    yield head("best of", "against best of", "pairs", *(f"{word} %" for word in VERDICTS))
    for sides, pairs in product(CHOICES, PAIRS[:3]):
        rng = np.random.default_rng([FIRST_SEED, pairs, sides[0]])
        counts: Counter[str] = Counter()
        for _ in range(studies):
            arms, rivals = (rng.normal(0, MARGIN, (count, pairs)) for count in sides)
            counts[judged([list(_highest(arms) - _highest(rivals))]).word] += 1
        yield row(*sides, pairs, *(share(counts[word], studies) for word in VERDICTS))


def _highest(arms: Floats) -> Floats:
    highest: Floats = arms[arms.mean(axis=1).argmax()]
    return highest


def _named(truths: tuple[float, ...]) -> str:
    return ", ".join(f"{truth:g}" for truth in truths)


def head(*names: str) -> str:
    return f"{row(*names)}\n|{'---|' * len(names)}"


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main(studies: int = 2000) -> None:
    for table in (
        of_one_link(("normal", "t3"), TRUTHS, studies),
        of_one_link(("tail towards", "tail away"), (0.0, 1.0), studies),
        of_four_links(studies),
        of_seeds_needed(studies),
        of_learning(studies),
        of_best(studies),
    ):
        print(*table, "", sep="\n", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
