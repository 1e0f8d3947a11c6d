"""Dialogues retold about other things, so that a model takes words up instead of remembering.

There are few training users. A model that only met them would answer `my exam` with what it
knows of the exam's user. So most dialogues are retold: what the user tells, the topic and the
feelings become others, made of words and shapes drawn at random, and the same wherever they are
said. The only way to fill a slot is then to copy from the conversation, which also works for
users never met. Words that do not exist teach to copy words from their pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from harness.policy.listening import TOPIC_SHAPE, listen, turn_round
from harness.policy.phrases import PHRASES, POOR
from harness.simulator.personas import PERSONAS, Persona
from harness.simulator.protocol import TRAIN
from harness.simulator.scripted.lines import manner
from harness.simulator.scripted.words import FUNCTION_WORDS

MADE_UP = 0.15
"""Share of exchanged words that are exchanged for a word that does not exist."""
SCRAMBLED = 0.3
"""Share of sentences in which function words are exchanged as well."""
OWN_TOPIC = 0.3
"""Share of topics that are a training user's, with words exchanged; the others are put together."""
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
_OWNERS = ("my", "my", "my", "the", "the", "our", "this", "his", "her", "a", "")
_MORE_LINKS = "of and at in with for from on to I who that without"
_LINKS = tuple(_MORE_LINKS.split())
_BEGINNINGS = "b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sl st th tr"
_MIDDLES = "a e i o u ai ea ee oo ou"
_ENDS = "b ck d g l m n p r s t x nd ng nt rd st er ing ed ly"
_SYLLABLE = (tuple(_BEGINNINGS.split()), tuple(_MIDDLES.split()), (*_ENDS.split(), *[""] * 6))
"""What a syllable begins with, its vowel, and what it ends with, if anything."""
_WORD = re.compile(r"[A-Za-z]+")


def retold(
    turns: Sequence[str], persona: Persona, rng: np.random.Generator, share: float
) -> list[str]:
    """The dialogue as if another user had come with other matters, in this share of calls."""
    if rng.random() >= share:
        return list(turns)
    swap: dict[str, str] = {}
    said = " ".join(turns)
    for sentence in persona.tellable:
        old = manner(sentence.text.rstrip("."), persona.voice)
        if old in said:
            new = _another_sentence(persona.voice, bool(listen([old]).facts), rng)
            swap[old], swap[turn_round(old)] = new, turn_round(new)
    topic = _another_topic(rng)
    swap[persona.topic] = topic
    swap[turn_round(persona.topic)] = turn_round(topic)
    for feeling in persona.feelings:
        if feeling not in _phrase_words():
            swap[feeling] = _another_feeling(rng)
    longest_first = sorted(swap, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))
    return [pattern.sub(lambda found: swap[found.group()], text) for text in turns]


def _another_sentence(voice: str, is_fact: bool, rng: np.random.Generator) -> str:
    """A reworded sentence that supporters take up (a fact) or do not, as `voice` says it."""
    while True:
        scrambled = rng.random() < SCRAMBLED
        text = _reworded(_one_of(_sentences(is_fact), rng), rng.random(), scrambled, rng)
        text = manner(text[0].upper() + text[1:], voice)
        if listen([text]).facts == ((turn_round(text),) if is_fact else ()):
            return text


def _another_topic(rng: np.random.Generator) -> str:
    """A topic in at most six words: a training user's reworded, or words put together."""
    while True:
        if rng.random() < OWN_TOPIC:
            topic = _reworded(_one_of(_topics(), rng), rng.random(), False, rng)
        else:
            topic = _noun_phrase(rng)
            if rng.random() < 0.5:
                topic += f" {_one_of(_LINKS, rng)} {_noun_phrase(rng)}"
        if re.fullmatch(TOPIC_SHAPE, topic):
            return topic


def _noun_phrase(rng: np.random.Generator) -> str:
    """One or two words after a word like `my`, or after none."""
    words = [_another_word(rng) for _ in range(1 + (rng.random() < 0.3))]
    return " ".join([_one_of(_OWNERS, rng), *words]).strip()


def _another_feeling(rng: np.random.Generator) -> str:
    return made_up(rng) if rng.random() < MADE_UP else _one_of(_feelings(), rng)


def _reworded(text: str, share: float, scrambled: bool, rng: np.random.Generator) -> str:
    """`text` with this share of its content words exchanged; where scrambled, of all words."""

    def other(found: re.Match[str]) -> str:
        word = found.group()
        if rng.random() >= share or not (scrambled or carries(word)):
            return word
        if not carries(word) and rng.random() < 0.7:
            return _one_of(_FUNCTION_WORDS, rng)
        return _another_word(rng)

    return _WORD.sub(other, text)


def _another_word(rng: np.random.Generator) -> str:
    return made_up(rng) if rng.random() < MADE_UP else _one_of(content_words(), rng)


def made_up(rng: np.random.Generator) -> str:
    """A word of one or two syllables that can be spoken and need not exist."""
    count = 1 + int(rng.random() * 2)
    return "".join(_one_of(part, rng) for _ in range(count) for part in _SYLLABLE)


def _one_of(values: Sequence[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]


def carries(word: str) -> bool:
    """Whether `word` is a content word that supporters do not say anyway."""
    return word.lower() not in FUNCTION_WORDS and word.lower() not in _phrase_words()


_FUNCTION_WORDS = tuple(sorted(FUNCTION_WORDS))


@lru_cache(maxsize=1)
def _phrase_words() -> frozenset[str]:
    return frozenset(_words_of([*(p for own in PHRASES.values() for p in own), *POOR]))


@lru_cache(maxsize=2)
def _sentences(is_fact: bool) -> list[str]:
    """What training users tell, without the stop: what supporters take up, or do not."""
    told = (s.text.rstrip(".") for person in PERSONAS[TRAIN] for s in person.tellable)
    return [text for text in told if bool(listen([text]).facts) == is_fact]


@lru_cache(maxsize=1)
def _topics() -> list[str]:
    return [person.topic for person in PERSONAS[TRAIN]]


@lru_cache(maxsize=1)
def content_words() -> list[str]:
    """The words that retold dialogues are made of, but for made-up ones."""
    texts = (*_sentences(True), *_sentences(False), *_topics(), _MORE_WORDS)
    return sorted({w for text in texts for w in _WORD.findall(text) if carries(w)})


@lru_cache(maxsize=1)
def _feelings() -> list[str]:
    feelings = {feeling for person in PERSONAS[TRAIN] for feeling in person.feelings}
    return sorted((feelings | set(_MORE_FEELINGS.split())) - _phrase_words())


def _words_of(texts: Iterable[str]) -> set[str]:
    return {word.lower() for text in texts for word in _WORD.findall(text)}
