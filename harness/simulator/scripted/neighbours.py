"""Do the words of a clause go together? Counted on natural sentences, not on what a policy says.

The measure is the mean pointwise mutual information of neighbours: how much more often than by
chance two words, or words of their two classes, stand side by side in the sentences of
`strategy_sentences.tsv`. Words in their order score above 1, the same words shuffled about 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from harness.simulator.scripted.words import clauses, sentences, words

SENTENCES = Path(__file__).with_name("strategy_sentences.tsv")
LEAST_COUNT = 10
"""Words met less often are taken as a class, by their ending."""
ADDED = 0.5
"""Pseudo-count, so that a pair never met is unlikely rather than impossible."""
FEWEST = 8
"""A sum over fewer pairs is still divided by so many: little text is little evidence."""
_ENDINGS = ("ing", "ed", "ly", "s")


@dataclass(frozen=True)
class Neighbours:
    """What stands beside what in English."""

    words: frozenset[str]
    """Met at all."""
    met: frozenset[tuple[str, str]]
    """Pairs of words met side by side within a clause."""
    frequent: frozenset[str]
    count: dict[tuple[str, str], int]
    first: dict[str, int]
    second: dict[str, int]
    total: int

    def coherence(self, parts: Sequence[Sequence[str]]) -> float:
        """Mean pointwise mutual information, in nats, of the neighbours in some clauses."""
        values = [self._value(a, b) for part in parts for a, b in pairwise(self._classes(part))]
        return sum(values) / max(FEWEST, len(values))

    def _classes(self, clause: Sequence[str]) -> list[str]:
        return _classes(clause, self.frequent)

    def _value(self, first: str, second: str) -> float:
        chance = self.first.get(first, 0) * self.second.get(second, 0) / self.total
        return math.log((self.count.get((first, second), 0) + ADDED) / (chance + ADDED))


def learn(texts: Iterable[str]) -> Neighbours:
    """The neighbours met in `texts`."""
    found = [words(c) for text in texts for s in sentences(text) for c in clauses(s)]
    uses = Counter(w for clause in found for w in clause)
    frequent = frozenset(w for w, n in uses.items() if n >= LEAST_COUNT)
    pairs = [pair for clause in found for pair in pairwise(_classes(clause, frequent))]
    return Neighbours(
        words=frozenset(uses),
        met=frozenset(pair for clause in found for pair in pairwise(clause)),
        frequent=frequent,
        count=Counter(pairs),
        first=Counter(a for a, _ in pairs),
        second=Counter(b for _, b in pairs),
        total=len(pairs),
    )


@cache
def english() -> Neighbours:
    """The neighbours of all the natural sentences."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return learn(line.split("\t")[2] for line in lines)


def _classes(clause: Sequence[str], frequent: frozenset[str]) -> list[str]:
    return ["^", *[w if w in frequent else _ending(w) for w in clause], "$"]


@lru_cache(maxsize=16384)
def _ending(word: str) -> str:
    return next(("-" + e for e in _ENDINGS if word.endswith(e)), "-")
