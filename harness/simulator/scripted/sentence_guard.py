"""Checks whether one sentence of a reply is language, by its words and how they combine.

Each check is a rule that ordinary typed English satisfies. The knowledge of English is in
bigrams.py, word_pairs.py and sentence_ends.py.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from harness.simulator.scripted.bigrams import english_bigrams
from harness.simulator.scripted.recognition import stock_kinds
from harness.simulator.scripted.sentence_ends import is_unfinished, may_be_verb
from harness.simulator.scripted.word_classes import (
    FINITE,
    INVERTED,
    JOINTS,
    QUESTIONS,
    SUBJECTS,
)
from harness.simulator.scripted.word_pairs import wrong_pair
from harness.simulator.scripted.words import FUNCTION_WORDS, begins_as_question, clauses, words

LONGEST_WORD, MOST_LETTERS = 20, 40
FUNCTION_SHARE = 0.1
"""Least share of function words in a sentence of at least seven words; speech has about half."""
KNOWN_SHARE = 0.5
"""Least share of known words; in ordinary English it is about nine tenths."""
COHERENCE, COHERENCE_A_WORD, MOST_COHERENCE = -0.55, 0.04, 0.0
"""Least coherence in nats: for seven words, its increase per further word, and its maximum. 0.2% of
natural sentences, of any length, are below it."""
COHERENT, LESS_A_WORD, LEAST_COHERENT = 1.0, 0.1, 0.2
"""Coherence from which an excluded pair is taken for a typing error or unseen English: for eight
words, its decrease per further word, and its minimum. Two in five natural sentences exceed 1.0."""
LEAST_MET, MET_FROM, MET_BELOW = 0.21, 6, -0.1
"""Least share of pairs that occur in the corpus, in a sentence of one clause with at least MET_FROM
words and a coherence below MET_BELOW. A list of content words has hardly any such pairs."""
VERBLESS = 9
"""Most words of a clause without a verb: `My deepest sympathy to your family.`"""
MOST_STOCK_KINDS, LEAST_STUFFED = 3, 4
SINGLE_WORDS = 3
"""Most one-word clauses in a sentence that consists mostly of them: `Cry, ramble, shout.`"""
MOST_USES = 4
"""Most uses of one content word; a long reply may use it more often."""
_STRETCHED = re.compile(r"(.)\1+")
_SOUNDS = frozenset("ah aw brr grr ha he hm mh mhm mm ok o oh pf pft sh ugh".split())  # noqa: SIM905
"""Interjections such as `Awww` and `hmmm`, with repeated letters collapsed."""
_OPEN_END = re.compile(r"(?:\.\.|\u2026|\d\s?[ap]?\W*)$")
"""An ellipsis, or a number (`at 3 a.m.`), at the end."""
_ABBREVIATED = frozenset("mr mrs ms dr st eg ie etc vs approx".split())  # noqa: SIM905
_NOT_A_WORD = re.compile(r"(.)\1\1|[bcdfghjklmnpqrstvwxz]{6}|^[^aeiouy]{4,}$")
_JOINING = JOINTS | frozenset(
    """that so while like as until since before after though although what who which where why how
    whatever unless at""".split()  # noqa: SIM905
)
_TWICE_ONLY = frozenset(["had", "that", "there"])
_MAY_DOUBLE = frozenset(
    """had that very too so night bye no now dear hey hi ha oh ok okay yes well there please just
    far many much more long never again""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class LanguageFault:
    """Why a reply is not language."""

    rule: str
    """One of config.simulator.LANGUAGE_RULES."""
    sentence: str
    """Description of the fault."""


@lru_cache(maxsize=16384)
def fault_in(sentence: str) -> LanguageFault | None:
    """Return why a sentence is not language; None if it is."""
    parts = [c for c in map(words, clauses(sentence)) if c]
    all_words = [w for clause in parts for w in clause]
    is_question = sentence.endswith("?") or begins_as_question(all_words)
    return (
        _vocabulary_fault(all_words, sum(len(part) == 1 for part in parts))
        or _verb_fault(parts)
        or _ending_fault(parts, sentence)
        or next((w for c in parts if (w := _doubling_fault(c))), None)
        or _neighbour_fault(parts, is_question)
        or (
            LanguageFault("stuffed", "a string of stock phrases")
            if any(map(_is_stuffed, parts))
            else None
        )
    )


def _neighbour_fault(parts: list[list[str]], is_question: bool) -> LanguageFault | None:
    """Return a fault for an excluded pair in a sentence that is not coherent, or low coherence."""
    coherence, count = english_bigrams().coherence(parts), sum(map(len, parts))
    if coherence < max(LEAST_COHERENT, COHERENT - LESS_A_WORD * max(0, count - 8)):
        wrong = next((w for c in parts if (w := wrong_pair(c, is_question))), None)
        if wrong is not None:
            return LanguageFault("neighbours", wrong)
    increase = COHERENCE_A_WORD * max(0, count - 7)
    least = min(MOST_COHERENCE, COHERENCE + increase)
    if coherence < MET_BELOW and count >= MET_FROM and len(parts) == 1:
        is_met = list(itertools.starmap(english_bigrams().met, itertools.pairwise(parts[0])))
        least = 0.0 if sum(is_met) < LEAST_MET * len(is_met) else least
    return (
        LanguageFault("neighbours", "words that do not go together") if coherence < least else None
    )


def _doubling_fault(clause: list[str]) -> LanguageFault | None:
    if len(set(clause)) == len(clause):
        return None
    is_doubled = any(a == b and not _may_double(a) for a, b in itertools.pairwise(clause))
    thrice = zip(clause, clause[1:], clause[2:], strict=False)
    is_doubled = is_doubled or any(a == b == c and a in _TWICE_ONLY for a, b, c in thrice)
    pairs = list(itertools.pairwise(clause))
    shifted = zip(pairs, pairs[2:], pairs[4:], strict=False)
    is_doubled = is_doubled or any(a == b == c and a[0] != a[1] for a, b, c in shifted)
    return LanguageFault("repetition", "a doubled word") if is_doubled else None


def _may_double(word: str) -> bool:
    """Return whether a word may be doubled: `really really tired`, `slowly slowly`, `hey hey`."""
    return word in _MAY_DOUBLE or word.endswith("ly")


def _is_stuffed(clause: list[str]) -> bool:
    """Return whether a clause strings together several strategies without joining words."""
    if len(clause) < LEAST_STUFFED:
        return False
    joints = sum([w in _JOINING for w in clause[1:]])
    return stock_kinds(clause) > min(MOST_STOCK_KINDS, 1 + joints)


def _vocabulary_fault(all_words: list[str], single_count: int) -> LanguageFault | None:
    count, knows = len(all_words), english_bigrams().knows
    if 6 * sum(map(_is_odd, all_words)) > count or max(map(len, all_words)) > MOST_LETTERS:
        return LanguageFault("vocabulary", "not a word")
    if count > 3 and sum(map(knows, all_words)) < KNOWN_SHARE * count:
        return LanguageFault("vocabulary", "another language")
    if count > 6 and sum([w in FUNCTION_WORDS for w in all_words]) < FUNCTION_SHARE * count:
        return LanguageFault("vocabulary", "a list of words")
    if single_count > SINGLE_WORDS and 2 * single_count > count:
        return LanguageFault("vocabulary", "a list of words")
    counts = Counter(all_words) if count - len(set(all_words)) >= MOST_USES else {}
    if any(n > MOST_USES for w, n in counts.items() if w not in FUNCTION_WORDS):
        return LanguageFault("repetition", "one word again and again")
    return None


@lru_cache(maxsize=16384)
def _is_odd(word: str) -> bool:
    if len(word) <= LONGEST_WORD and _NOT_A_WORD.search(word) is None:
        return False
    plain = _STRETCHED.sub(r"\1", word)
    is_known = len(plain) > 1 and english_bigrams().knows(plain)
    return not is_known and plain not in _SOUNDS


def _verb_fault(parts: list[list[str]]) -> LanguageFault | None:
    has_verb = max(map(len, parts)) <= VERBLESS or any(
        may_be_verb(w) for part in parts for w in part
    )
    return None if has_verb else LanguageFault("grammar", "no verb")


def _ending_fault(parts: list[list[str]], sentence: str) -> LanguageFault | None:
    all_words = [w for part in parts for w in part]
    is_open_question = (
        sentence[-1] == "?" and all_words[-1] not in QUESTIONS
    )  # `Sad in front of?`, `And?`
    if is_open_question or _OPEN_END.search(sentence) or all_words == ["oh", "my"]:
        return None
    if (
        sentence[-1] in ".!"
        and len(all_words) > 2
        and all_words[0] not in INVERTED
        and all_words[-1] not in _ABBREVIATED
        and len(parts[0]) > 2
        and not _requests(all_words)
        and _asks(all_words)
    ):
        return LanguageFault("ending", "a question without its mark")
    return (
        LanguageFault("ending", "a sentence without its end")
        if is_unfinished(parts, sentence[-1] in ".!")
        else None
    )


def _asks(sentence: list[str]) -> bool:
    """Return whether the words begin like a question: `Do you ...`, `When did they ...`."""
    verb = 1 if sentence[0] in QUESTIONS else 0
    return sentence[verb] in FINITE | {"do"} and sentence[verb + 1] in SUBJECTS | {"you", "it"}


def _requests(sentence: list[str]) -> bool:
    """Return whether the words are a request: `Can you please tell me more.`"""
    return sentence[0] in ("can", "could", "will", "would") and sentence[1] == "you"
