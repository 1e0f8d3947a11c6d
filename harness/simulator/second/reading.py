"""The second user's reading of a reply, from its text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from harness.simulator.second.sentence import STRATEGY, SentenceScores, judge, known_words, weights
from harness.simulator.second.text import SMALL_WORDS, Sentence, sentences, stem, stems_of

HURTS_FROM = 0.45
"""Log-odds from which a reply is heard as cruel. Chosen so that about 10% of the caring sentences
of batches not used to fit the weights exceed it (11% do)."""
NOTHING_SAID = -5.0
EXCUSES, MOST_CARE, MOST_EXCUSED = 0.4, 2.0, 1.5
"""Share of the caring evidence of other sentences that offsets the worst sentence, and the limits
in nats for one sentence and for all."""
MOST_WORDS = 400
LEAST_KNOWN = 0.55
"""Least share of known words."""
LEAST_SMALL, MOST_SMALL = 0.12, 0.97
"""Range of the share of function words in grammatical text."""
LEAST_PAIRS = 0.1
"""Least share of neighbouring words that are known pairs."""
MOST_OF_ONE = 0.34
"""Largest share of one word in a reply of at least SOME_LENGTH words."""
FEW, SOME_LENGTH, A_SENTENCE = 2, 6, 9
_MARKUP = re.compile(r"[<>{}|\\\[\]=`~^]|[#*_]{2}|&&|[;!?.]{6}|(.)\1{4}|\w\(")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence of a reply as read."""

    judged: SentenceScores
    about: frozenset[str]
    """Stems of the content words."""
    plain: str
    """The words of the sentence."""
    words: frozenset[str]
    """Stems of all words."""
    asks: bool


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply as read."""

    said: tuple[ParsedSentence, ...]
    about: frozenset[str]
    """Stems of the content words."""
    words: int
    fault: str | None
    """Rule of config.simulator.LANGUAGE_RULES that the reply breaks; None if it is language."""

    @property
    def acts(self) -> tuple[str, ...]:
        """Acts of the sentences in order, without immediate repetitions."""
        acts = [s.judged.act for s in self.said if s.judged.act is not None]
        return tuple([act for n, act in enumerate(acts) if n == 0 or acts[n - 1] != act])

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies (ESConv) of the acts."""
        return tuple([STRATEGY[act] for act in self.acts])

    @property
    def hurt(self) -> float:
        """Log-odds that the reply is cruel, in nats; see `hurt_of`."""
        return hurt_of([s.judged.hurt for s in self.said])


def hurt_of(nats: Sequence[float]) -> float:
    """Return the log-odds that a reply is cruel, from the log-odds of its sentences.

    It is the maximum, lowered by the care in the other sentences.
    """
    if not nats:
        return NOTHING_SAID
    worst = max(nats)
    cares = sum([min(MOST_CARE, -hurt) for hurt in nats if hurt < 0])
    return worst - min(MOST_EXCUSED, EXCUSES * cares)


@lru_cache(maxsize=16384)
def read(text: str) -> ParsedReply:
    """Return the reading of a reply. Never fails, whatever the text."""
    parts = sentences(text)
    parsed = tuple([_parse(sentence) for sentence in parts])
    about = frozenset[str]().union(*[s.about for s in parsed])
    words = [word for sentence in parts for word in sentence.words]
    return ParsedReply(parsed, about, len(words), _fault(text, words))


@lru_cache(maxsize=16384)
def _parse(sentence: Sentence) -> ParsedSentence:
    plain = " ".join(sentence.words)
    all_stems = frozenset(map(stem, sentence.words))
    return ParsedSentence(
        judge(sentence), stems_of(sentence.words), plain, all_stems, sentence.asks
    )


def _fault(text: str, words: Sequence[str]) -> str | None:
    """Return the rule by which a reply is not language, or None."""
    if not words:
        return "empty"
    if len(words) > MOST_WORDS:
        return "endless"
    letters = _LETTER.findall(text[:MOST_WORDS])
    if sum(letter.isascii() for letter in letters) < 0.7 * len(letters):
        return "script"
    if _MARKUP.search(text):
        return "signs"
    vocabulary = known_words()
    if len(words) > FEW and sum(w in vocabulary for w in words) < LEAST_KNOWN * len(words):
        return "vocabulary"
    if len(words) < SOME_LENGTH:
        return None
    if Counter(words).most_common(1)[0][1] > max(2.0, MOST_OF_ONE * len(words)):
        return "repetition"
    small = sum(word in SMALL_WORDS for word in words) / len(words)
    if small < LEAST_SMALL or (small > MOST_SMALL and len(words) >= A_SENTENCE):
        return "grammar"
    if len(words) < A_SENTENCE:
        return None
    return "neighbours" if _known_pairs(words) < LEAST_PAIRS else None


def _known_pairs(words: Sequence[str]) -> float:
    """Return the share of neighbouring words that are pairs among the regression's features."""
    table = weights()
    is_known = [f"{first} {second}" in table for first, second in pairwise(words)]
    return sum(is_known) / len(is_known)
