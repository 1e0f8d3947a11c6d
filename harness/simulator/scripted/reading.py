"""A reply as the user takes it in: everything that depends on its text alone, computed once.

Texts vary more than sentences, so what is costly is remembered sentence by sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from harness.simulator.people import EVERYONE
from harness.simulator.scripted import surface
from harness.simulator.scripted.echo import echoes
from harness.simulator.scripted.recognise import dismisses, flatters, strategy_of
from harness.simulator.scripted.words import FUNCTION_WORDS, content, sentences, stem, words

FACT_STEMS: tuple[tuple[frozenset[str], ...], ...] = tuple(
    tuple(content(fact) for fact in person.facts) for person in EVERYONE
)
COMMON_STEMS = frozenset(map(stem, FUNCTION_WORDS))
FEELINGS = {stem(feeling): feeling for person in EVERYONE for feeling in person.feelings}
PICK_UP_SHARE = 0.6
"""Share of a fact's content words that a sentence must take up to speak of it."""
ALIKE, ALIKE_WITHIN, ALIKE_OF_FACT = 0.75, 0.5, 0.85
"""Shares of shared words from which a sentence is the same again: less if one holds the other, more
if it speaks of a fact, which two sentences may well do."""


def _facts_by_stem() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for person, facts in enumerate(FACT_STEMS):
        for number, fact in enumerate(facts):
            for word in fact:
                found.setdefault(word, []).append((person, number))
    return found


_FACTS_BY_STEM = _facts_by_stem()
"""(persona, fact) by the stems that speak of it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a reply."""

    plain: str
    """Its words."""
    stems: frozenset[str]
    frame: str
    """Its words with its matter left open: `you are _ _`."""
    strategy: str | None
    told: bool
    """It speaks of a fact."""
    hollow: bool
    """It is what a user says, not what is said to one; or praise that nobody takes for meant."""

    def said_before(self, earlier: Collection[str]) -> bool:
        """Whether one of `earlier`, in plain words, says the same, a word or two aside."""
        if self.plain in earlier:
            return True
        stems, told, count = self.stems, self.told, len(self.stems)
        if count < 3:
            return False
        for other in earlier:
            theirs, frame = _stems_and_frame(other)
            if frame == self.frame and count > 3 and not told:
                return True
            shared, more = len(stems & theirs), len(theirs)
            least = ALIKE_WITHIN if shared in (more, count) else ALIKE
            if shared / (count + more - shared) >= (ALIKE_OF_FACT if told else least):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says, whoever it is said to."""

    said: tuple[Sentence, ...]
    strategies: tuple[str, ...]
    kinds: frozenset[str]
    """The same, each once."""
    stems: frozenset[str]
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """(persona, fact) spoken of, by index."""
    sentences: tuple[str, ...]
    """In plain words."""
    word_count: int
    hurts: bool
    fault: str | None


@lru_cache(maxsize=65536)
def read(text: str) -> Reading:
    """The reading of `text`; it never fails, whatever the text."""
    text = text[: surface.MAX_CHARACTERS + 1]
    parts = [_read_sentence(part) for part in sentences(text)]
    strategies = tuple([s for part in parts for s in part.strategies])
    return Reading(
        said=tuple([s for part in parts for s in part.said]),
        strategies=strategies,
        kinds=frozenset(strategies),
        stems=frozenset().union(*(part.stems for part in parts)),
        feelings=frozenset().union(*(part.feelings for part in parts)),
        facts=frozenset().union(*(part.facts for part in parts)),
        sentences=tuple([s for part in parts for s in part.sentences]),
        word_count=sum(part.word_count for part in parts),
        hurts=any(part.hurts for part in parts),
        fault=surface.fault(text),
    )


@lru_cache(maxsize=65536)
def _read_sentence(sentence: str) -> Reading:
    found = words(sentence)
    plain = " ".join(found)
    stems, frame = _stems_and_frame(plain)
    facts = frozenset(_facts(stems))
    hollow = echoes(plain, facts) or flatters(plain)
    strategy = None if hollow else strategy_of(sentence)
    return Reading(
        said=(Sentence(plain, stems, frame, strategy, bool(facts), hollow),),
        strategies=(strategy,) if strategy else (),
        kinds=frozenset((strategy,) if strategy else ()),
        stems=stems,
        feelings=frozenset(FEELINGS[s] for s in stems if s in FEELINGS),
        facts=facts,
        sentences=(plain,),
        word_count=len(found),
        hurts=dismisses(sentence),
        fault=None,
    )


@lru_cache(maxsize=65536)
def _stems_and_frame(plain: str) -> tuple[frozenset[str], str]:
    found = plain.split()
    frame = " ".join(w if w in FUNCTION_WORDS else "_" for w in found)
    return frozenset(map(stem, found)), frame


def _facts(stems: frozenset[str]) -> list[tuple[int, int]]:
    shared = Counter([fact for stem in stems for fact in _FACTS_BY_STEM.get(stem, ())])
    return [
        (person, number)
        for (person, number), count in shared.items()
        if count >= max(2, PICK_UP_SHARE * len(FACT_STEMS[person][number]))
    ]
