"""A reply as the user takes it in: everything that depends on its text alone, computed once.

Texts vary more than sentences, so what is costly is remembered sentence by sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from harness.simulator import surface
from harness.simulator.people import EVERYONE
from harness.simulator.recognise import dismisses, strategy_of
from harness.simulator.words import FUNCTION_WORDS, content, sentences, stem, words

FACT_STEMS: tuple[tuple[frozenset[str], ...], ...] = tuple(
    tuple(content(fact) for fact in person.facts) for person in EVERYONE
)
COMMON_STEMS = frozenset(map(stem, FUNCTION_WORDS))
FEELINGS = {stem(feeling): feeling for person in EVERYONE for feeling in person.feelings}
PICK_UP_SHARE = 0.6
"""Share of a fact's content words that a sentence must take up to speak of it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says, whoever it is said to."""

    strategies: tuple[str, ...]
    stems: frozenset[str]
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """(persona, fact) spoken of, by index."""
    sentences: frozenset[str]
    word_count: int
    hurts: bool
    fault: str | None


@lru_cache(maxsize=65536)
def read(text: str) -> Reading:
    """The reading of `text`; it never fails, whatever the text."""
    text = text[: surface.MAX_CHARACTERS + 1]
    parts = [_read_sentence(part) for part in sentences(text)]
    return Reading(
        strategies=tuple(s for part in parts for s in part.strategies),
        stems=frozenset().union(*(part.stems for part in parts)),
        feelings=frozenset().union(*(part.feelings for part in parts)),
        facts=frozenset().union(*(part.facts for part in parts)),
        sentences=frozenset().union(*(part.sentences for part in parts)),
        word_count=sum(part.word_count for part in parts),
        hurts=any(part.hurts for part in parts),
        fault=surface.fault(text),
    )


@lru_cache(maxsize=65536)
def _read_sentence(sentence: str) -> Reading:
    found = words(sentence)
    stems, strategy = frozenset(map(stem, found)), strategy_of(sentence)
    return Reading(
        strategies=(strategy,) if strategy else (),
        stems=stems,
        feelings=frozenset(FEELINGS[s] for s in stems if s in FEELINGS),
        facts=frozenset(_facts(stems)),
        sentences=frozenset((" ".join(found),)),
        word_count=len(found),
        hurts=dismisses(sentence),
        fault=None,
    )


def _facts(stems: frozenset[str]) -> list[tuple[int, int]]:
    return [
        (person, number)
        for person, facts in enumerate(FACT_STEMS)
        for number, fact in enumerate(facts)
        if len(fact & stems) >= max(2, PICK_UP_SHARE * len(fact))
    ]
