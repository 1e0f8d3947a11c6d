"""Whether neighbouring words go together, counted on natural sentences, not on a policy's.

The measure is the mean pointwise mutual information of neighbours: how much more often than by
chance two words, or words of their two classes, stand side by side in 17,000 natural sentences of
ten writers. Words in their order score above 1, the same words shuffled about 0.

Beside it stand pairs that English does not have, by the classes of the words; a pair met in the
natural sentences is never one of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from harness.simulator.scripted.word_classes import (
    ADJECTIVES,
    ARTICLES,
    BASES,
    BE,
    FINITE,
    FORBIDDEN,
    INFINITIVE_TAKERS,
    JOINTS,
    LICENCES,
    MODALS,
    NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTIONS,
    S_FORMS,
    SUBJECTS,
    VERBS,
)
from harness.simulator.scripted.words import FUNCTION_WORDS, clauses, sentences, words

SENTENCES = Path(__file__).with_name("strategy_sentences.tsv")
PAIRS = Path(__file__).with_name("english_pairs.tsv")
"""Words and those that follow them, of 17,000 sentences: benchmarks/english_pairs.py."""
BEGIN, END = "^", "$"
"""Stand for the beginning and the end of a clause."""
LEAST_COUNT = 10
"""Words met less often are taken as a class, by their ending."""
ADDED = 0.5
"""Pseudo-count, so that a pair never met is unlikely rather than impossible."""
FEWEST = 8
"""A sum over fewer pairs is still divided by so many: little text is little evidence."""
_ENDINGS = ("ing", "ed", "ly", "s")


@dataclass(frozen=True)
class Bigrams:
    """Counts of neighbouring words and word classes in a body of text."""

    words: frozenset[str]
    """All words of the text."""
    pairs: frozenset[tuple[str, str]]
    """Pairs of words side by side within a clause."""
    frequent: frozenset[str]
    """Words with at least LEAST_COUNT uses; others are counted by their class."""
    count: dict[tuple[str, str], int]
    first: dict[str, int]
    second: dict[str, int]
    total: int

    @classmethod
    def of(cls, counts: Mapping[tuple[str, str], int]) -> Bigrams:
        """Return the counts by class; `counts`: of words side by side, as `count_pairs` has them.

        A word is the second of exactly one pair at each of its uses.
        """
        uses = Counter[str]()
        for (_, second), n in counts.items():
            uses[second] += n
        del uses[END]
        frequent = frozenset(w for w, n in uses.items() if n >= LEAST_COUNT)
        name = {w: w if w in frequent else _ending(w) for w in uses} | {BEGIN: BEGIN, END: END}
        by_class, firsts, seconds = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
        for (a, b), n in counts.items():
            first, second = name[a], name[b]
            by_class[first, second] += n
            firsts[first] += n
            seconds[second] += n
        return cls(
            words=frozenset(uses),
            pairs=frozenset(pair for pair in counts if pair[0] != BEGIN and pair[1] != END),
            frequent=frequent,
            count=by_class,
            first=firsts,
            second=seconds,
            total=by_class.total(),
        )

    def coherence(self, parts: Sequence[Sequence[str]]) -> float:
        """Return the mean pointwise mutual information, in nats, of neighbours in some clauses."""
        values = [self._value(a, b) for part in parts for a, b in pairwise(self._classes(part))]
        return sum(values) / max(FEWEST, len(values))

    def _classes(self, clause: Sequence[str]) -> list[str]:
        frequent = self.frequent
        return [BEGIN, *[w if w in frequent else _ending(w) for w in clause], END]

    def _value(self, first: str, second: str) -> float:
        chance = self.first.get(first, 0) * self.second.get(second, 0) / self.total
        return math.log((self.count.get((first, second), 0) + ADDED) / (chance + ADDED))


def count_pairs(texts: Iterable[str]) -> Counter[tuple[str, str]]:
    """Return how often words stand side by side in the clauses of `texts`, and at their ends."""
    parts = (words(c) for text in texts for s in sentences(text) for c in clauses(s))
    return Counter(pair for part in parts if part for pair in pairwise([BEGIN, *part, END]))


@cache
def english_bigrams() -> Bigrams:
    """Return the counts over all the natural sentences."""
    counts: dict[tuple[str, str], int] = {}
    for line in PAIRS.read_text(encoding="utf-8").splitlines()[1:]:
        first, rest = line.split("\t")
        for cell in rest.split(" "):
            second, _, n = cell.partition(":")
            counts[first, second] = int(n or 1)
    return Bigrams.of(counts)


@lru_cache(maxsize=16384)
def _ending(word: str) -> str:
    return next(("-" + e for e in _ENDINGS if word.endswith(e)), "-")


_OPENS_QUESTION = QUESTIONS | frozenset(
    ["so", "nor", "neither", "only", "then", "here", "there", "not", "and"]
)
_BEFORE_PRONOUNS = (
    PREPOSITIONS
    | MODALS
    | frozenset(
        ["to", "for", "does", "did", "around", "about", "near", "beside", "behind", "like", "than"]
    )
)
_SLIPS = frozenset(
    [("should", "of"), ("could", "of"), ("would", "of"), ("your", "are"), ("its", "is"),
     ("its", "a"), ("its", "an"), ("its", "the"), ("its", "not"), ("and", "or")]
)  # fmt: skip
"""What natives write for `should have`, `you are`, `it is`; and `and/or`."""
_ADVERBS, _DO = frozenset(["how", "why", "when", "where"]), frozenset(["do", "does", "did"])
_AFTER_SUBJECT = BASES | {"feel", "think", "want", "need"}
_TURNS = BE | MODALS | {"does", "did", "has", "had"}
_NOT_BEFORE_PRONOUNS = BE | MODALS - {"may"}
_S_FORMS_OR_HAVE = S_FORMS | {"have"}
_NEW_SUBJECTS = SUBJECTS | {"you", "it"}
_NEW_VERBS = FINITE | BASES | {"feel"}
_NOT_NOUNS = FUNCTION_WORDS | ADJECTIVES | VERBS
_BEFORE_MAYBE = LICENCES | BE | PRONOUNS
_JOINTS_ALL, _JOINTS_TIGHT = JOINTS | QUESTIONS, JOINTS - {"and", "or"}


def wrong_pair(clause: list[str], asked: bool) -> str | None:
    """Return the first neighbours in a clause that English does not have, for a person; or None."""
    met = english_bigrams().pairs
    for place, (first, second) in enumerate(pairwise(clause)):
        if (first, second) in met or (first, second) in _SLIPS or _apart(clause, place):
            continue
        if second in FORBIDDEN.get(first, ()) and not _is_inverted(clause, place, asked):
            return f"'{first} {second}'"
        if (
            second in PRONOUNS
            and first in _NOT_BEFORE_PRONOUNS
            and not _is_inverted(clause, place, asked)
        ):
            return f"'{first} {second}'"
        if second in NOUNS and (first.endswith("ing") or first in _JOINTS_TIGHT):
            return f"'{first} {second}'"
    return _jammed(clause)


def _is_inverted(clause: list[str], place: int, asked: bool) -> bool:
    """Return whether a verb stands before its subject as in questions.

    `Are you`, `how could they`.
    """
    if clause[place] not in _TURNS:
        return False
    return asked or place == 0 or clause[place - 1] in _OPENS_QUESTION


def _apart(clause: list[str], place: int) -> bool:
    """Return whether two words belong to different parts.

    `all you had | was`, `part of you | feels`.
    """
    before, (first, second) = clause[:place], clause[place : place + 2]
    if second in ("is", "was") and ("what" in before or "all" in before):
        return True
    if first in PRONOUNS and before and second in _S_FORMS_OR_HAVE:
        return before[-1] in _BEFORE_PRONOUNS
    return first in BE and second in PRONOUNS and before[-1:] == ["it"]


def _jammed(clause: list[str]) -> str | None:
    """Return a second sentence that begins inside the first: `you feel sad you are brave`."""
    for before, subject, verb in zip(clause, clause[1:], clause[2:], strict=False):
        if before in INFINITIVE_TAKERS and subject == "to" and verb in ARTICLES:
            return f"'{before} to {verb}'"
        if before in _JOINTS_ALL and subject == "you" and verb in ADJECTIVES:
            return f"'{before} you {verb}'"
        if before in _ADVERBS and subject in _DO and verb in _AFTER_SUBJECT:
            return f"'{subject} {verb}'"
        if (before, subject) in english_bigrams().pairs:
            continue
        begins = subject in _NEW_SUBJECTS and verb in _NEW_VERBS
        noun = before not in _NOT_NOUNS
        licensed = before in LICENCES or noun or _follows_degree(clause, before)
        if begins and not licensed:
            return f"a new sentence after '{before}'"
        if subject in ("maybe", "perhaps") and before not in _BEFORE_MAYBE:
            return f"a new sentence after '{before}'"
    return None


def _follows_degree(clause: list[str], word: str) -> bool:
    """Return whether a word follows one of degree: `how hard it is`, `as lost as you feel`."""
    return clause[max(0, clause.index(word) - 1)] in ("how", "so", "as", "more", "too")
