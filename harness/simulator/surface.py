"""Is a reply language at all? Checks on the surface of the text, without any grammar of replies.

They hold on every rung, and where no start policy gives a likelihood. A reply that fails one
puzzles the user. Each check is a rule that ordinary English keeps; together they find most word
salad, and what passes them still has to be worth something to the user.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from functools import lru_cache

from harness.simulator.word_classes import (
    ADJECTIVES,
    ARTICLES,
    BASES,
    BE,
    CAN_NOT_END,
    FINITE,
    FORBIDDEN,
    INFINITIVE_TAKERS,
    JOINTS,
    LICENCES,
    MODALS,
    NOUNS,
    PRONOUNS,
    QUESTIONS,
    S_FORMS,
    SUBJECTS,
    VERBS,
)  # fmt: skip
from harness.simulator.words import FUNCTION_WORDS, sentences, stem, words

MAX_CHARACTERS = 2000
LONGEST_WORD = 20
FUNCTION_SHARE = 0.2
"""Least share of function words in a sentence of six words or more; talk has about half."""
_CLAUSE = re.compile(r"[,;:()\u2014\"\u201c\u201d]|\s-\s|\u2026|\.\.\.")
_JOINED = re.compile(r"[a-z]{3,}[.?!][a-zA-Z]{3,}")
_ODD_STOPS = re.compile(r"[.?!]{2,}")
_STOPS = frozenset({"..", "...", "....", "!!", "!!!", "??", "?!", "!?"})
_NOT_A_WORD = re.compile(r"(.)\1\1|[bcdfghjklmnpqrstvwxz]{6}|^[^aeiouy]{4,}$")
_VERB_STEMS = frozenset(map(stem, VERBS))
_OPENS_QUESTION = QUESTIONS | {
    "so",
    "nor",
    "neither",
    "only",
    "then",
    "here",
    "there",
    "not",
    "and",
}


@lru_cache(maxsize=65536)
def fault(text: str) -> str | None:
    """What is wrong with `text` as language; None for a reply that reads like one."""
    if len(text) > MAX_CHARACTERS:
        return "endless"
    found = words(text)
    if not found:
        return "empty"
    parts = sentences(text)
    checks = itertools.chain([_shape(text), _repetition(parts, found)], map(_sentence, parts))
    return next((wrong for wrong in checks if wrong), None)


def _shape(text: str) -> str | None:
    """Capital, stop at the end, and stops that part sentences."""
    text = text.strip()
    letters = [c for c in text if c.isalpha()]
    if sum(c.isascii() for c in letters) < 0.8 * len(letters):
        return "another script"
    if not letters[0].isupper() or text[-1].isalnum() or text[-1] in ",;:-":
        return "not a whole sentence"
    odd = set(_ODD_STOPS.findall(text)) - _STOPS
    return "no space after a stop" if odd or _JOINED.search(text) else None


def _repetition(parts: list[str], found: list[str]) -> str | None:
    openings = Counter(tuple(words(part)[:3]) for part in parts)
    if any(n > 1 and len(opening) == 3 for opening, n in openings.items()):
        return "sentences that begin alike"
    counts = Counter(w for w in found if w not in FUNCTION_WORDS)
    most = max(counts.values(), default=0)
    return "one word again and again" if most > 3 else None


@lru_cache(maxsize=65536)
def _sentence(sentence: str) -> str | None:
    clauses = [c for c in map(words, _CLAUSE.split(sentence)) if c]
    found = [w for clause in clauses for w in clause]
    asked = sentence.endswith("?")
    if any(len(w) > LONGEST_WORD or _NOT_A_WORD.search(w) for w in found):
        return "not a word"
    if len(found) > 5 and sum(w in FUNCTION_WORDS for w in found) < FUNCTION_SHARE * len(found):
        return "a list of words"
    if found[0] in S_FORMS:
        return "no subject"
    if len(found) > 4 and not any(_verb(w) for w in found):
        return "no verb"
    if any(n > 2 for w, n in Counter(found).items() if w not in FUNCTION_WORDS):
        return "one word again and again"
    return _ending(found, asked) or next((w for c in clauses if (w := _pairs(c, asked))), None)


def _verb(word: str) -> bool:
    return word.endswith(("ed", "ing")) or word in VERBS or stem(word) in _VERB_STEMS


def _ending(found: list[str], asked: bool) -> str | None:
    last, earlier = found[-1], found[:-1]
    if not asked and len(found) > 2 and _asks(found):
        return "a question without its mark"
    if last in CAN_NOT_END and not (last in SUBJECTS or any(w in QUESTIONS for w in earlier)):
        return "a sentence without its end"
    if last in ADJECTIVES and earlier[-1:] == ["that"] and not set(earlier[-2:]) & (BE | VERBS):
        return "a sentence without its end"
    if last in QUESTIONS and len(found) > 3 and earlier[-1] not in FUNCTION_WORDS:
        return "a sentence without its end"
    return None


def _asks(found: list[str]) -> bool:
    """`Do you ...`, `When did they ...`: only a question begins so."""
    verb = 1 if found[0] in QUESTIONS else 0
    return found[verb] in FINITE | {"do"} and found[verb + 1] in SUBJECTS | {"you", "it"}


def _pairs(clause: list[str], asked: bool) -> str | None:
    """Neighbours that English does not have."""
    for place, (first, second) in enumerate(itertools.pairwise(clause)):
        if first == second and first not in ("had", "that", "very", "too", "so"):
            return "a doubled word"
        if second in FORBIDDEN.get(first, ()) and not _turned_round(clause, place, asked):
            return f"'{first} {second}'"
        if second in PRONOUNS and first in BE | MODALS and not _turned_round(clause, place, asked):
            return f"'{first} {second}'"
        if second in NOUNS and (first.endswith("ing") or first in JOINTS - {"and", "or"}):
            return f"'{first} {second}'"
    return _jammed(clause)


def _turned_round(clause: list[str], place: int, asked: bool) -> bool:
    """`Are you`, `how could they`: verb before subject, as questions have it."""
    if clause[place] not in BE | MODALS | {"does", "did", "has", "had"}:
        return False
    return asked or place == 0 or clause[place - 1] in _OPENS_QUESTION


def _jammed(clause: list[str]) -> str | None:
    """A second sentence that begins inside the first: `you feel sad you are brave`."""
    for before, subject, verb in zip(clause, clause[1:], clause[2:], strict=False):
        if before in INFINITIVE_TAKERS and subject == "to" and verb in ARTICLES:
            return f"'{before} to {verb}'"
        if before in JOINTS | QUESTIONS and subject == "you" and verb in ADJECTIVES:
            return f"'{before} you {verb}'"
        begins = subject in SUBJECTS | {"you", "it", "that"} and verb in FINITE | BASES | {"feel"}
        noun = before not in FUNCTION_WORDS | ADJECTIVES | VERBS
        licensed = before in LICENCES or noun or _so(clause, before)
        if begins and not licensed:
            return f"a new sentence after '{before}'"
        if subject in ("maybe", "perhaps") and before not in MODALS | BE | JOINTS | PRONOUNS:
            return f"a new sentence after '{before}'"
    return None


def _so(clause: list[str], word: str) -> bool:
    """`how hard it is`, `as lost as you feel`."""
    return clause[max(0, clause.index(word) - 1)] in ("how", "so", "as", "more", "too")
