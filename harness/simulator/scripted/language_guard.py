"""Checks whether a reply is language at all, on its surface, without any grammar of replies.

They hold on every rung, and where no start policy gives a likelihood. A reply that fails one
puzzles the user. Each check is a rule that ordinary English keeps, whoever types it: small letters,
no stop at the end and slips of the keyboard are no fault. Together they find most word salad, and
what passes them still has to be worth something to the user.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from harness.simulator.scripted.recognition import stock_kinds
from harness.simulator.scripted.sentence_ends import may_be_verb, unfinished
from harness.simulator.scripted.word_classes import (
    FINITE,
    INVERTED,
    JOINTS,
    NEED_SUBJECT,
    QUESTIONS,
    SUBJECTS,
)
from harness.simulator.scripted.word_pairs import english_bigrams, wrong_pair
from harness.simulator.scripted.words import (
    FUNCTION_WORDS,
    begins_as_question,
    clauses,
    sentences,
    words,
)

MAX_CHARACTERS = 2000
LONGEST_WORD = 20
FUNCTION_SHARE = 0.2
"""Least share of function words in a sentence of seven words or more; talk has about half."""
KNOWN_SHARE = 0.5
"""Least share of words the user has met; in ordinary English about nine tenths."""
COHERENCE, COHERENCE_A_WORD, MOST_COHERENCE = -0.25, 0.02, 0.0
"""Least mean information of neighbours, in nats: of a sentence of seven words, more for each
further word, and at most. Of natural sentences of any length .5% lie below."""
COHERENT = 0.7
"""Half the natural sentences lie above; in these a rare pair is no fault."""
VERBLESS = 9
"""Longest clause that may do without a verb: `My deepest sympathy to your family.`"""
LATIN_SHARE = 0.8
STOCK_KINDS, LEAST_STUFFED = 2, 4
SINGLE_WORDS = 3
"""Most clauses of one word in a sentence: `Cry, ramble, shout, anything you need.`"""
SYMBOLS = 4
_PLAIN = re.compile(r"[A-Za-z ,.;?!'-]+")
"""Characters of most replies; `_signs` looks for others."""
_JOINED = re.compile(r"[.?!](?<=[a-z]{3}[.?!])[a-zA-Z]{3}")
_ODD_STOPS = re.compile(r"[.?!](?:(?<=\.)[?!]|(?<=[?!])\.)")
_NOT_A_WORD = re.compile(r"(.)\1\1|[bcdfghjklmnpqrstvwxz]{6}|^[^aeiouy]{4,}$")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064]")
_MIXED = re.compile(r"[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]|[A-Za-z][0-9$@|]+[a-z]")
_MARKUP = re.compile(r"[{}<>\[\]|=`]")
_CASES = re.compile(r"[a-z][A-Z]")
_SYMBOL = re.compile(r"[_#*\\/~^$@%+]")
_SPEAKER = re.compile(
    r"(?:^|[\s\"'(>])(?:user|assistant|system|human|supporter|seeker|client|therapist|ai|bot)\s?:"
    r"|(?:^|[.!?])\s*\w+\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_JOINING = JOINTS | frozenset(
    """that so while like as until since before after though although what who which where why how
    whatever unless at""".split()  # noqa: SIM905
)
_MAY_DOUBLE = frozenset(["had", "that", "very", "too", "so", "night", "bye", "no", "now", "dear"])


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a reply is not language."""

    rule: str
    """One of config.simulator.LANGUAGE_RULES."""
    sentence: str
    """What is wrong, in words."""


@lru_cache(maxsize=65536)
def fault(text: str) -> Fault | None:
    """Return why `text` is not language, for a person; None for a reply that reads like one."""
    if len(text) > MAX_CHARACTERS:
        return Fault("endless", "endless")
    parts = sentences(text)
    text_words = [word for part in parts for word in words(part)]
    if not text_words:
        return Fault("empty", "empty")
    checks = itertools.chain([_shape(text), _repetition(parts, text_words)], map(_sentence, parts))
    return next((wrong for wrong in checks if wrong), None)


def _shape(text: str) -> Fault | None:
    """Return a sign that is not of somebody who talks."""
    text = text.strip()
    if not _PLAIN.fullmatch(text) and (wrong := _signs(text)):
        return wrong
    if len(_CASES.findall(text)) > SYMBOLS:
        return Fault("signs", "signs that nobody says")
    if ":" in text and _SPEAKER.search(text):
        return Fault("speaker", "speaks for somebody else")
    if text[-1] in ",;:-":
        return Fault("ending", "not a whole sentence")
    return (
        Fault("spacing", "no space after a stop")
        if _ODD_STOPS.search(text) or _JOINED.search(text)
        else None
    )


def _signs(text: str) -> Fault | None:
    """Return what letters, blanks and common stops alone cannot have."""
    if _foreign(text) or _MIXED.search(text):
        return Fault("script", "another script")
    markup = len(_MARKUP.findall(text)) > 1 or len(_SYMBOL.findall(text)) > SYMBOLS
    return Fault("signs", "signs that nobody says") if markup or _CONTROL.search(text) else None


def _foreign(text: str) -> bool:
    letters = "" if text.isascii() else [c for c in text if c.isalpha()]
    return sum(c.isascii() for c in letters) < LATIN_SHARE * len(letters)


def _repetition(parts: list[str], all_words: list[str]) -> Fault | None:
    openings = Counter([tuple(words(part)[:3]) for part in parts] if len(parts) > 1 else ())
    if any(n > 1 and len(o) == 3 and not FUNCTION_WORDS.issuperset(o) for o, n in openings.items()):
        return Fault("repetition", "sentences that begin alike")
    if len(all_words) - len(set(all_words)) < 3:  # no word more than three times
        return None
    counts = Counter(w for w in all_words if w not in FUNCTION_WORDS)
    most = max(counts.values(), default=0)
    return (
        Fault("repetition", "one word again and again")
        if most > max(3, len(all_words) / 12)
        else None
    )


@lru_cache(maxsize=65536)
def _sentence(sentence: str) -> Fault | None:
    parts = [c for c in map(words, clauses(sentence)) if c]
    all_words = [w for clause in parts for w in clause]
    asked = sentence.endswith("?") or begins_as_question(all_words)
    return (
        _vocabulary(all_words, sum(len(part) == 1 for part in parts))
        or _verbless(parts)
        or _ending(parts, sentence)
        or next((w for c in parts if (w := _doubled(c))), None)
        or _neighbours(parts, asked)
        or (Fault("stuffed", "a string of stock phrases") if any(map(_stuffed, parts)) else None)
    )


def _neighbours(parts: list[list[str]], asked: bool) -> Fault | None:
    """Return a pair that English does not have, unless all the rest goes together well."""
    coherence = english_bigrams().coherence(parts)
    if coherence < COHERENT:
        wrong = next((w for c in parts if (w := wrong_pair(c, asked))), None)
        if wrong is not None:
            return Fault("neighbours", wrong)
    more = COHERENCE_A_WORD * max(0, sum(map(len, parts)) - 7)
    least = min(MOST_COHERENCE, COHERENCE + more)
    return Fault("neighbours", "words that do not go together") if coherence < least else None


def _doubled(clause: list[str]) -> Fault | None:
    twice = any(a == b and a not in _MAY_DOUBLE for a, b in itertools.pairwise(clause))
    return Fault("repetition", "a doubled word") if twice else None


def _stuffed(clause: list[str]) -> bool:
    """Wordings of several strategies, and nothing that joins them."""
    if len(clause) < LEAST_STUFFED:
        return False
    joints = sum([w in _JOINING for w in clause[1:]])
    return stock_kinds(clause) > min(STOCK_KINDS, 1 + joints)


def _vocabulary(all_words: list[str], single: int) -> Fault | None:
    count, known_words = len(all_words), english_bigrams().words
    if 6 * sum(map(_odd, all_words)) > count:
        return Fault("vocabulary", "not a word")
    if count > 3 and sum([w in known_words for w in all_words]) < KNOWN_SHARE * count:
        return Fault("vocabulary", "another language")
    if count > 6 and sum([w in FUNCTION_WORDS for w in all_words]) < FUNCTION_SHARE * count:
        return Fault("vocabulary", "a list of words")
    if single > SINGLE_WORDS:
        return Fault("vocabulary", "a list of words")
    if all_words[0] in NEED_SUBJECT:
        return Fault("grammar", "no subject")
    often = Counter(all_words) if count - len(set(all_words)) > 2 else {}
    if any(n > 3 for w, n in often.items() if w not in FUNCTION_WORDS):
        return Fault("repetition", "one word again and again")
    return None


@lru_cache(maxsize=16384)
def _odd(word: str) -> bool:
    return len(word) > LONGEST_WORD or _NOT_A_WORD.search(word) is not None


def _verbless(parts: list[list[str]]) -> Fault | None:
    verb = max(map(len, parts)) <= VERBLESS or any(may_be_verb(w) for part in parts for w in part)
    return None if verb else Fault("grammar", "no verb")


def _ending(parts: list[list[str]], sentence: str) -> Fault | None:
    all_words = [w for part in parts for w in part]
    if (
        sentence[-1] in ".!"
        and len(all_words) > 2
        and all_words[0] not in INVERTED
        and _asks(all_words)
    ):
        return Fault("ending", "a question without its mark")
    return (
        Fault("ending", "a sentence without its end")
        if unfinished(parts, sentence[-1] in ".!")
        else None
    )


def _asks(sentence: list[str]) -> bool:
    """Return whether words begin as only a question does: `Do you ...`, `When did they ...`."""
    verb = 1 if sentence[0] in QUESTIONS else 0
    return sentence[verb] in FINITE | {"do"} and sentence[verb + 1] in SUBJECTS | {"you", "it"}
