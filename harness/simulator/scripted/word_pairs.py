"""Detects pairs of words that English excludes, by the classes of the words.

A pair that occurs in the natural sentences of `bigrams` is never one of them.
"""

from __future__ import annotations

from itertools import pairwise

from harness.simulator.scripted.bigrams import english_bigrams
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
from harness.simulator.scripted.words import FUNCTION_WORDS

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
"""Errors that native speakers make for `should have`, `you are` and `it is`; and `and/or`."""
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


def wrong_pair(clause: list[str], is_question: bool) -> str | None:
    """Return the first pair in a clause that English excludes, quoted for a reader; or None."""
    is_known_pair = english_bigrams().met
    for index, (first, second) in enumerate(pairwise(clause)):
        if is_known_pair(first, second) or (first, second) in _SLIPS or _are_apart(clause, index):
            continue
        if second in FORBIDDEN.get(first, ()) and not _is_inverted(clause, index, is_question):
            return f"'{first} {second}'"
        if (
            second in PRONOUNS
            and first in _NOT_BEFORE_PRONOUNS
            and not _is_inverted(clause, index, is_question)
        ):
            return f"'{first} {second}'"
        if second in NOUNS and (first.endswith("ing") or first in _JOINTS_TIGHT):
            return f"'{first} {second}'"
    return _find_run_on(clause)


def _is_inverted(clause: list[str], index: int, is_question: bool) -> bool:
    """Return whether a verb precedes its subject as in questions: `Are you`, `how could they`."""
    if clause[index] not in _TURNS:
        return False
    return is_question or index == 0 or clause[index - 1] in _OPENS_QUESTION


def _are_apart(clause: list[str], index: int) -> bool:
    """Return whether two neighbours belong to different phrases.

    Examples: `all you had | was`, `part of you | feels`.
    """
    preceding, (first, second) = clause[:index], clause[index : index + 2]
    if second in ("is", "was") and ("what" in preceding or "all" in preceding):
        return True
    if first in PRONOUNS and preceding and second in _S_FORMS_OR_HAVE:
        return preceding[-1] in _BEFORE_PRONOUNS
    return first in BE and second in PRONOUNS and preceding[-1:] == ["it"]


def _find_run_on(clause: list[str]) -> str | None:
    """Return where a second sentence begins inside the first: `you feel sad you are brave`."""
    for previous, subject, verb in zip(clause, clause[1:], clause[2:], strict=False):
        if previous in INFINITIVE_TAKERS and subject == "to" and verb in ARTICLES:
            return f"'{previous} to {verb}'"
        if previous in _JOINTS_ALL and subject == "you" and verb in ADJECTIVES:
            return f"'{previous} you {verb}'"
        if previous in _ADVERBS and subject in _DO and verb in _AFTER_SUBJECT:
            return f"'{subject} {verb}'"
        if english_bigrams().met(previous, subject):
            continue
        begins = subject in _NEW_SUBJECTS and verb in _NEW_VERBS
        noun = previous not in _NOT_NOUNS
        licensed = previous in LICENCES or noun or _follows_degree(clause, previous)
        if begins and not licensed:
            return f"a new sentence after '{previous}'"
        if subject in ("maybe", "perhaps") and previous not in _BEFORE_MAYBE:
            return f"a new sentence after '{previous}'"
    return None


def _follows_degree(clause: list[str], word: str) -> bool:
    """Return whether a word follows a degree word: `how hard it is`, `as lost as you feel`."""
    return clause[max(0, clause.index(word) - 1)] in ("how", "so", "as", "more", "too")
