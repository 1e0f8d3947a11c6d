"""What a study pays for being looked at again and again until it is decided.

    python -m benchmarks.study_looks [studies a cell]

Studies of one link that states "more", drawn as benchmarks.study_verdicts draws them and judged as
`harness study` judges them, at each look of a schedule until a word is said. Three rules: every
look has all the error of a single one, as it was until 2026-11-23; the looks share it; they share
it up to the most seeds that were stated beforehand. A fourth is a confidence sequence: the mixture
of Student's t likelihood ratios over effects above 0, half normal with a standard deviation of
EFFECT spreads, is 1 / 0.025 or more (Ville 1939; Robbins 1970). Prints Markdown."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.study_verdicts import FIRST_SEED, Cell, head, judged, row, share
from harness.law.compare.links import (
    CONTRADICTED,
    NO_EFFECT,
    SUPPORTED,
    UNDECIDED,
    VERDICTS,
    Earlier,
)
from harness.law.results import Floats

SCHEDULES: Mapping[str, tuple[int, ...]] = {
    "every one from 3 to 15": tuple(range(3, 16)),
    "3, 6, 9, 12, 15": (3, 6, 9, 12, 15),
    "5, 10, 15": (5, 10, 15),
    "3, 15": (3, 15),
    "10, 15": (10, 15),
}
"""The pairs at each look."""
MOST = 15
RULES: Mapping[str, tuple[bool, int | None]] = {
    "all at each": (False, None),
    "shared": (True, None),
    f"most_seeds {MOST}": (True, MOST),
}
"""Whether the looks before are held against one, and the most seeds that were stated."""
WIDE = 2.4
"""A spread, in margins, at which few studies are decided before the last look."""
EFFECT, QUANTILES = 1.0, 200


def until_decided(
    values: Sequence[float], schedule: Sequence[int], kept: bool, most: int | None
) -> tuple[str, int]:
    """The word of a study at its first decided look, or at its last, and its pairs there."""
    looks: list[Earlier] = []
    for pairs in schedule:
        look = judged([values[:pairs]], looks if kept else (), most)
        if look.word != UNDECIDED:
            return look.word, pairs
        looks.append(look.seen)
    return UNDECIDED, schedule[-1]


def of_false_words(studies: int) -> Iterator[str]:
    yield head(
        *("looks at pairs", "error", "no difference: supported %"),
        *("no difference: contradicted %", "the margin: no effect %"),
    )
    for (name, schedule), (rule, (kept, most)) in product(SCHEDULES.items(), RULES.items()):
        counts: list[Counter[str]] = []
        for truth in (0.0, 1.0):
            rng = np.random.default_rng([FIRST_SEED, 1, len(schedule), schedule[0]])
            cell = Cell(schedule[-1], WIDE, (truth,))
            drawn = (cell.drawn(rng, cell.pairs)[0] for _ in range(studies))
            counts.append(Counter(until_decided(d, schedule, kept, most)[0] for d in drawn))
        false = (counts[0][SUPPORTED], counts[0][CONTRADICTED], counts[1][NO_EFFECT])
        yield row(name, rule, *(share(count, studies) for count in false))


def of_asked_for(studies: int) -> Iterator[str]:
    """Looks at as many pairs as the last one asked for, at one more at least and at most MOST."""
    yield head("true", "spread", "first pairs", *(f"{word} %" for word in VERDICTS), "looks, mean")
    for truth, spread, pairs in product((0.0, 1.0), (1.2, WIDE), (3, 5)):
        rng = np.random.default_rng([FIRST_SEED, 2, pairs])
        counts: Counter[str] = Counter()
        made = 0
        for _ in range(studies):
            (values,) = Cell(MOST, spread, (truth,)).drawn(rng, MOST)
            looks: list[Earlier] = []
            now, word = pairs, UNDECIDED
            while word == UNDECIDED and now <= MOST:
                look = judged([values[:now]], looks)
                looks.append(look.seen)
                word = look.word
                now = MOST + 1 if now == MOST else min(MOST, max(now + 1, look.needed or MOST))
            counts[word] += 1
            made += len(looks)
        shares = (share(counts[word], studies) for word in VERDICTS)
        yield row(f"{truth:g}", f"{spread:g}", pairs, *shares, f"{made / studies:.1f}")


def of_power(studies: int) -> Iterator[str]:
    """How often a true margin is supported, and with how many pairs, by each rule."""
    names = (*RULES, "confidence sequence")
    yield head("looks at pairs", "spread", *(f"{name}: supported %, pairs" for name in names))
    single = {"5": (5,), "10": (10,), "15": (15,)}
    for (name, schedule), spread in product({**single, **SCHEDULES}.items(), (0.6, 1.2)):
        rng = np.random.default_rng([FIRST_SEED, 3, len(schedule), schedule[0]])
        cell = Cell(schedule[-1], spread, (1.0,))
        drawn = [cell.drawn(rng, cell.pairs)[0] for _ in range(studies)]
        ends = [
            [until_decided(d, schedule, kept, most) for d in drawn] for kept, most in RULES.values()
        ]
        ends.append([_in_sequence(d, schedule) for d in drawn])
        yield row(name, f"{spread:g}", *map(_told, ends))


def _told(ends: Sequence[tuple[str, int]]) -> str:
    supported = share(sum(word == SUPPORTED for word, _ in ends), len(ends))
    return f"{supported}, {np.mean([pairs for _, pairs in ends]):.1f}"


def _in_sequence(values: Sequence[float], schedule: Sequence[int]) -> tuple[str, int]:
    """The same by the confidence sequence, which has only the one word here."""
    for pairs in schedule:
        seen = np.array(values[:pairs])
        t = float(seen.mean() / seen.std(ddof=1) * pairs**0.5)
        if t > _least_t(pairs):
            return SUPPORTED, pairs
    return UNDECIDED, schedule[-1]


_LEAST: dict[int, float] = {}


def _least_t(pairs: int) -> float:
    """The smallest t whose mixture of likelihood ratios is 40 or more; infinite above 60."""
    if pairs not in _LEAST:
        places = (np.arange(QUANTILES) + 0.5) / QUANTILES
        effects = EFFECT * stats.norm.ppf((1 + places) / 2) * pairs**0.5
        t: Floats = np.geomspace(1.0, 60.0, 500)
        ratios = stats.nct.pdf(t[:, None], pairs - 1, effects).mean(axis=1)
        enough = np.flatnonzero(ratios / stats.t.pdf(t, pairs - 1) >= 1 / 0.025)
        _LEAST[pairs] = float(t[enough[0]]) if len(enough) else float("inf")
    return _LEAST[pairs]


def main(studies: int = 8000) -> None:
    for table in (of_false_words(studies), of_asked_for(studies), of_power(studies // 4)):
        print(*table, "", sep="\n", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
