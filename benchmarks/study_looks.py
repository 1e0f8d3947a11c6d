"""What a study pays for being looked at again and again until it is decided.

    python -m benchmarks.study_looks [studies a cell]

Studies of one link that states "more", judged as `harness study` judges them, at each look of a
schedule until a word is said. Differences are normal; spreads and true differences are in margins.
Three rules: every look has all the error of a single one, as it was until 2026-11-23; the looks
share it; they share it up to the most seeds that were stated beforehand. A fourth is a confidence
sequence: the mixture of Student's t likelihood ratios over effects above 0, half normal with a
standard deviation of EFFECT spreads, is 1 / 0.025 or more (Ville 1939; Robbins 1970). Prints
Markdown."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.study_verdicts import FIRST_SEED, Cell, head, judged, row, share
from harness.law.compare import looks
from harness.law.compare.claims import LEVEL
from harness.law.compare.link_result import (
    CONTRADICTED,
    NO_EFFECT,
    SUPPORTED,
    UNDECIDED,
    VERDICTS,
)
from harness.law.compare.links import Earlier
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
EFFECT, QUANTILES = 1.0, 200
ALPHA = LEVEL / 2
Rule = Callable[[Sequence[int]], float]
"""The t that a word takes at the last of these looks."""


def with_level(level: Callable[[Sequence[int]], float]) -> Rule:
    return lambda sizes: float(stats.t.isf(level(sizes), sizes[-1] - 1))


@functools.cache
def in_sequence(pairs: int) -> float:
    """The smallest t whose mixture of likelihood ratios is 40 or more; infinite above 60."""
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    effects = EFFECT * stats.norm.ppf((1 + places) / 2) * pairs**0.5
    t: Floats = np.geomspace(1.0, 60.0, 500)
    ratios = stats.nct.pdf(t[:, None], pairs - 1, effects).mean(axis=1)
    enough = np.flatnonzero(ratios / stats.t.pdf(t, pairs - 1) >= 1 / ALPHA)
    return float(t[enough[0]]) if len(enough) else float("inf")


RULES: Mapping[str, Rule] = {
    "all at each": with_level(lambda sizes: ALPHA),
    "shared": with_level(lambda sizes: looks.one_sided_level(tuple(sizes), ALPHA)),
    f"most_seeds {MOST}": with_level(
        lambda sizes: looks.one_sided_level(tuple(sizes), ALPHA, MOST)
    ),
    "confidence sequence": lambda sizes: in_sequence(sizes[-1]),
}
WIDE = 2.4
"""A spread, in margins, at which few studies are decided before the last look."""


@dataclass(frozen=True)
class Ends:
    """How studies ended: at their first decided look, or undecided at their last."""

    words: Mapping[str, int]
    pairs: float
    """At that look, mean."""


def until_decided(drawn: Floats, schedule: Sequence[int], rule: Rule) -> Ends:
    """`drawn`: the differences of each study, in margins, shape (studies, pairs).

    Many studies at once, each as links.judge judges it: a test holds the two together.
    """
    still = np.ones(len(drawn), dtype=bool)
    words = dict.fromkeys(VERDICTS, 0)
    used = 0.0
    for place, pairs in enumerate(schedule):
        seen = drawn[:, :pairs]
        error = seen.std(axis=1, ddof=1) / pairs**0.5
        least_t = rule(schedule[: place + 1])
        t = seen.mean(axis=1) / error
        short = (1 - seen.mean(axis=1)) / error
        for word, of in ((SUPPORTED, t), (CONTRADICTED, -t), (NO_EFFECT, short)):
            now = still & (of > least_t)
            words[word] += int(now.sum())
            used += pairs * int(now.sum())
            still &= ~now
    words[UNDECIDED] = int(still.sum())
    return Ends(words, (used + schedule[-1] * words[UNDECIDED]) / len(drawn))


def drawn(schedule: Sequence[int], spread: float, truth: float, studies: int) -> Floats:
    rng = np.random.default_rng([FIRST_SEED, 1, len(schedule), schedule[0]])
    return truth + spread * rng.standard_normal((studies, schedule[-1]))


def of_false_words(studies: int) -> Iterator[str]:
    yield head(
        *("looks at pairs", "error", "no difference: supported %"),
        *("no difference: contradicted %", "the margin: no effect %"),
    )
    for (name, schedule), (rule, least_t) in product(SCHEDULES.items(), RULES.items()):
        none, margin = (
            until_decided(drawn(schedule, WIDE, truth, studies), schedule, least_t).words
            for truth in (0.0, 1.0)
        )
        false = (none[SUPPORTED], none[CONTRADICTED], margin[NO_EFFECT])
        yield row(name, rule, *(share(count, studies) for count in false))


def of_asked_for(studies: int) -> Iterator[str]:
    """Looks at as many pairs as the last one asked for, at one more at least and at most MOST."""
    yield head("true", "spread", "first pairs", *(f"{word} %" for word in VERDICTS), "looks, mean")
    for truth, spread, pairs in product((0.0, 1.0), (1.2, WIDE), (3, 5)):
        rng = np.random.default_rng([FIRST_SEED, 2, pairs])
        counts: Counter[str] = Counter()
        total = 0
        for _ in range(studies):
            (values,) = Cell(MOST, spread, (truth,)).drawn(rng, MOST)
            made: list[Earlier] = []
            now, word = pairs, UNDECIDED
            while word == UNDECIDED and now <= MOST:
                look = judged([values[:now]], made)
                made.append(look.seen)
                word = look.word
                now = MOST + 1 if now == MOST else min(MOST, max(now + 1, look.needed or MOST))
            counts[word] += 1
            total += len(made)
        shares = (share(counts[word], studies) for word in VERDICTS)
        yield row(f"{truth:g}", f"{spread:g}", pairs, *shares, f"{total / studies:.1f}")


def of_power(studies: int) -> Iterator[str]:
    """How often a true margin is supported, and with how many pairs, by each rule."""
    yield head("looks at pairs", "spread", *(f"{name}: supported %, pairs" for name in RULES))
    single = {"5": (5,), "10": (10,), "15": (15,)}
    for (name, schedule), spread in product({**single, **SCHEDULES}.items(), (0.6, 1.2)):
        values = drawn(schedule, spread, 1.0, studies)
        ends = [until_decided(values, schedule, least_t) for least_t in RULES.values()]
        shares = (f"{share(e.words[SUPPORTED], studies)}, {e.pairs:.1f}" for e in ends)
        yield row(name, f"{spread:g}", *shares)


def main(studies: int = 4000) -> None:
    for table in (of_false_words(50 * studies), of_asked_for(4 * studies), of_power(10 * studies)):
        print(*table, "", sep="\n", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
