"""Dialogues retold about other matters, so that a model learns to copy rather than to memorise.

There are few training users. A model trained only on them would answer `my exam` with what it
remembers of the exam's user. Therefore most dialogues are retold: the user's facts, topic and
feelings are replaced by others, made of random words and patterns, consistently within a dialogue.
The only way to fill a slot is then to copy from the conversation, which also works for new users.
Invented words teach the model to copy words piece by piece.
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
"""Share of replaced words that are replaced by an invented word."""
SCRAMBLED = 0.3
"""Share of sentences in which function words are replaced as well."""
OWN_TOPIC = 0.3
"""Share of topics made by rewording a training user's; the others are built from random words."""
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
"""Possible beginnings, vowels and ends of a syllable; the end may be empty."""
_WORD = re.compile(r"[A-Za-z]+")


def retell_dialogue(
    turns: Sequence[str], persona: Persona, rng: np.random.Generator, share: float
) -> list[str]:
    """Return the dialogue retold about other matters, or unchanged in 1 - `share` of calls."""
    if rng.random() >= share:
        return list(turns)
    swap: dict[str, str] = {}
    dialogue = " ".join(turns)
    for sentence in persona.tellable:
        old = manner(sentence.text.rstrip("."), persona.voice)
        if old in dialogue:
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
    return [pattern.sub(lambda match: swap[match.group()], text) for text in turns]


def _another_sentence(voice: str, is_fact: bool, rng: np.random.Generator) -> str:
    """Return a reworded sentence in `voice` that supporters take up (`is_fact`) or do not."""
    while True:
        scrambled = rng.random() < SCRAMBLED
        text = _reword(_one_of(_sentences(is_fact), rng), rng.random(), scrambled, rng)
        text = manner(text[0].upper() + text[1:], voice)
        if listen([text]).facts == ((turn_round(text),) if is_fact else ()):
            return text


def _another_topic(rng: np.random.Generator) -> str:
    """Return a topic that fits TOPIC_SHAPE: a training user's reworded, or random words."""
    while True:
        if rng.random() < OWN_TOPIC:
            topic = _reword(_one_of(_topics(), rng), rng.random(), False, rng)
        else:
            topic = _noun_phrase(rng)
            if rng.random() < 0.5:
                topic += f" {_one_of(_LINKS, rng)} {_noun_phrase(rng)}"
        if re.fullmatch(TOPIC_SHAPE, topic):
            return topic


def _noun_phrase(rng: np.random.Generator) -> str:
    """Return one or two random words, mostly after a word like `my`."""
    words = [_another_word(rng) for _ in range(1 + (rng.random() < 0.3))]
    return " ".join([_one_of(_OWNERS, rng), *words]).strip()


def _another_feeling(rng: np.random.Generator) -> str:
    return made_up(rng) if rng.random() < MADE_UP else _one_of(_feelings(), rng)


def _reword(text: str, share: float, scrambled: bool, rng: np.random.Generator) -> str:
    """Return `text` with a share of its content words replaced; if `scrambled`, of all words."""

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if rng.random() >= share or not (scrambled or carries(word)):
            return word
        if not carries(word) and rng.random() < 0.7:
            return _one_of(_FUNCTION_WORDS, rng)
        return _another_word(rng)

    return _WORD.sub(other, text)


def _another_word(rng: np.random.Generator) -> str:
    return made_up(rng) if rng.random() < MADE_UP else _one_of(content_words(), rng)


def made_up(rng: np.random.Generator) -> str:
    """Return an invented, pronounceable word of one or two syllables."""
    count = 1 + int(rng.random() * 2)
    return "".join(_one_of(part, rng) for _ in range(count) for part in _SYLLABLE)


def _one_of(values: Sequence[str], rng: np.random.Generator) -> str:
    return values[int(rng.random() * len(values))]


def carries(word: str) -> bool:
    """Return whether `word` is a content word that does not occur in supporters' phrases."""
    return word.lower() not in FUNCTION_WORDS and word.lower() not in _phrase_words()


_FUNCTION_WORDS = tuple(sorted(FUNCTION_WORDS))


@lru_cache(maxsize=1)
def _phrase_words() -> frozenset[str]:
    return frozenset(
        _words_of([*(phrase for group in PHRASES.values() for phrase in group), *POOR])
    )


@lru_cache(maxsize=2)
def _sentences(is_fact: bool) -> list[str]:
    """Return training users' sentences without the full stop, facts or not."""
    texts = (s.text.rstrip(".") for person in PERSONAS[TRAIN] for s in person.tellable)
    return [text for text in texts if bool(listen([text]).facts) == is_fact]


@lru_cache(maxsize=1)
def _topics() -> list[str]:
    return [person.topic for person in PERSONAS[TRAIN]]


@lru_cache(maxsize=1)
def content_words() -> list[str]:
    """Return the words used in retold dialogues, except for invented ones."""
    texts = (*_sentences(True), *_sentences(False), *_topics(), _MORE_WORDS)
    return sorted({w for text in texts for w in _WORD.findall(text) if carries(w)})


@lru_cache(maxsize=1)
def _feelings() -> list[str]:
    feelings = {feeling for person in PERSONAS[TRAIN] for feeling in person.feelings}
    return sorted((feelings | set(_MORE_FEELINGS.split())) - _phrase_words())


def _words_of(texts: Iterable[str]) -> set[str]:
    return {word.lower() for text in texts for word in _WORD.findall(text)}
