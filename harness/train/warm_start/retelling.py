"""Dialogues retold about other things, so that a model takes words up instead of remembering.

There are few training users. A model that only met them would answer `my exam` with what it
knows of the exam's user. So most dialogues are retold: each fact, the topic and the feelings
become another user's, with some words exchanged, the same wherever they are said. The only way
to fill a slot is then to copy from the conversation, which also works for users never met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from harness.policy.listening import listen, turn_round
from harness.policy.phrases import PHRASES, POOR
from harness.simulator.personas import PERSONAS, Persona
from harness.simulator.protocol import TRAIN
from harness.simulator.scripted.lines import manner
from harness.simulator.scripted.words import FUNCTION_WORDS

SHARE = 0.85
"""Share of the dialogues that are retold."""
EXCHANGED = 0.3
"""Share of content words exchanged in a retold fact or topic."""
_MORE_WORDS = """
    boss manager teacher neighbour friend colleague landlord trainer captain lawyer client nurse
    coach priest father mother sister brother husband wife son daughter aunt uncle cousin
    grandmother grandfather nephew niece stepmother exam thesis report essay project contract
    licence diploma interview promotion grant debt rent mortgage budget savings shop house flat
    garden village city school office hotel farm kitchen library station hospital factory church
    club dog cat horse car phone ring coat bed key piano camera bicycle boat tree roof letter
    suitcase knee heart lung scan operation illness blood skin hearing stomach shoulder Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July
    August September October November December
"""
_MORE_FEELINGS = """
    angry nervous trapped disappointed jealous useless helpless sad guilty confused lonely empty
    bitter calm cold cross dull dizzy eager foolish furious frozen gloomy grumpy hopeless hurt
    insecure lazy mad numb proud rotten scared shaken shy silly small stuck stunned tense torn
    ugly uneasy upset vain weak weary wild wretched bored brave broken
"""
_WORD = re.compile(r"[A-Za-z]+")


def retold(turns: Sequence[str], persona: Persona, rng: np.random.Generator) -> list[str]:
    """The dialogue as if another user had come with other facts; or as it was."""
    if rng.random() >= SHARE:
        return list(turns)
    swap: dict[str, str] = {}
    said = " ".join(turns)
    for fact in [sentence.text for sentence in persona.tellable]:
        if manner(fact.rstrip("."), persona.voice) not in said:
            continue
        other = _another_fact(rng)
        old, new = (
            manner(text, persona.voice) for text in (fact.rstrip("."), other[0].upper() + other[1:])
        )
        swap[old], swap[turn_round(old)] = new, turn_round(new)
    topic = _reworded(_one_of(_topics(), rng), rng)
    swap[persona.topic] = topic
    swap[turn_round(persona.topic)] = turn_round(topic)
    for feeling in persona.feelings:
        if feeling not in _phrase_words():
            swap[feeling] = _one_of(_feelings(), rng)
    longest_first = sorted(swap, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))
    return [pattern.sub(lambda found: swap[found.group()], text) for text in turns]


def _another_fact(rng: np.random.Generator) -> str:
    """A reworded fact that a supporter would take up, which depends on its first words."""
    while True:
        fact = _reworded(_one_of(_facts(), rng), rng).rstrip(".")
        if listen([fact]).facts == (turn_round(fact),):
            return fact


def _reworded(text: str, rng: np.random.Generator) -> str:
    def other(found: re.Match[str]) -> str:
        word = found.group()
        if not _carries(word) or rng.random() >= EXCHANGED:
            return word
        return _one_of(_words(), rng)

    return _WORD.sub(other, text)


def _one_of(values: Sequence[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]


def _carries(word: str) -> bool:
    """Whether `word` is a content word that supporters do not say anyway."""
    return word.lower() not in FUNCTION_WORDS and word.lower() not in _phrase_words()


@lru_cache(maxsize=1)
def _phrase_words() -> frozenset[str]:
    return frozenset(_words_of([*(p for own in PHRASES.values() for p in own), *POOR]))


@lru_cache(maxsize=1)
def _facts() -> list[str]:
    return [fact for person in PERSONAS[TRAIN] for fact in person.facts]


@lru_cache(maxsize=1)
def _topics() -> list[str]:
    return [person.topic for person in PERSONAS[TRAIN]]


@lru_cache(maxsize=1)
def _words() -> list[str]:
    words = {w for text in (*_facts(), *_topics()) for w in _WORD.findall(text) if _carries(w)}
    return sorted(words | {w for w in _MORE_WORDS.split() if _carries(w)})


@lru_cache(maxsize=1)
def _feelings() -> list[str]:
    feelings = {feeling for person in PERSONAS[TRAIN] for feeling in person.feelings}
    return sorted((feelings | set(_MORE_FEELINGS.split())) - _phrase_words())


def _words_of(texts: Iterable[str]) -> set[str]:
    return {word.lower() for text in texts for word in _WORD.findall(text)}
