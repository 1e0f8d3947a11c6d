"""Detects a sentence that breaks off before its end, by its last words.

Closed lists say which words need a continuation and in which contexts they do not: `in spite of`
needs one, `taken care of` does not. Most truncated sentences end on a word that can also end a
sentence (`it hurts that you have`) and are not detected, because a false alarm is the worse error.
"""

from __future__ import annotations

from harness.simulator.scripted.word_classes import (
    ADJECTIVES,
    ARTICLES,
    BE,
    CLAUSE_TAKERS,
    MORE_VERBS,
    QUESTIONS,
    SUBJECTS,
    VERBS,
)
from harness.simulator.scripted.words import FUNCTION_WORDS, stem

NEEDS_MORE = ARTICLES | frozenset(["and", "or", "because", "if", "than", "as", "whether", "unless"])
"""Words that hardly ever end a sentence."""
MAY_NEED_MORE = frozenset(
    "but very quite feel seem sounds while although during like".split()  # noqa: SIM905
)
"""Words that end a sentence only after a question word (`how you feel`) or as in ENDS_AFTER."""
ENDS_AFTER = {
    "like": SUBJECTS | {"you", "do", "not", "would"},
    "while": ARTICLES | {"little", "long", "short", "good"},
    "but": {"anything", "nothing"},
    "very": {"not"},
    "quite": {"not"},
    "feel": {"to"},
}
"""Last word -> words before it that let it end a sentence: `as you like`, `not quite`."""
_COMPARED = frozenset(["feel", "seem", "sounds"])
_COMPARING = frozenset(["than", "as", "way", "whatever", "however", "more", "less"])
"""`harder than it sounds`, `the way you feel`."""
_OF = frozenset(["out", "part", "lot", "bit", "because", "instead", "front", "spite"])
_TO = frozenset(["common", "painful", "heavy", "helps", "courage", "sorry"])
"""`It is common to`, unlike `if you want to`, `I am glad to` and `nobody to talk to`."""
_THAT = ADJECTIVES | {"now", "hurts", "sorry"}
"""`so hard that`, `now that`: after these `that` is no object."""
_SIZES = frozenset(["long", "big", "small", "new", "great", "quiet", "large", "good", "bad"])
_QUALITIES = ADJECTIVES | _SIZES | {"old", "little", "best", "closest"}
_MAY_ASK = VERBS | FUNCTION_WORDS | {"idea", "reason", "clue", "sure", "exactly"}
SUBORDINATORS = frozenset(["that", "because", "when", "if", "while", "although", "how", "whether"])
_ALONE = SUBJECTS | {"you", "it"}
_TIMES = frozenset(
    """day night week month year time times morning evening moment way whole long much many same
    first last next other only best most""".split()  # noqa: SIM905
)
"""`I did that the other day`, `we can do that your way`: `that` was the object."""
_TAKE_THAT = (
    CLAUSE_TAKERS | ADJECTIVES | {"hurts", "now", "so", "known", "you", "it", "saying", "fault"}
) - {"like"}
_COPULAS = BE | {"be", "been", "being"}
_OPENERS = (["in", "other", "words"], ["in", "fact"])
_VERB_STEMS = frozenset(map(stem, VERBS | MORE_VERBS))


def is_unfinished(clauses: list[list[str]], stopped: bool) -> bool:
    """Return whether a sentence, given as the words of its clauses, breaks off before its end.

    `stopped` says whether it ends with a full stop: without it `what hurts most` may be a question.
    """
    *earlier, last = [w for clause in clauses for w in clause]
    previous = earlier[-1] if earlier else ""
    if last in QUESTIONS:
        return len(earlier) > 2 and previous not in _MAY_ASK and not may_be_verb(previous)
    return (
        (last in NEEDS_MORE and not _is_object(last, earlier))
        or (last in SUBJECTS and previous in SUBORDINATORS)
        or (last == "it" and previous in ("what", "how"))
        or _lacks_object(last, previous, frozenset(earlier))
        or _lacks_verb(clauses[-1])
        or (last in _SIZES and previous in ("a", "an"))
        or (stopped and len(clauses) == 1 and _lacks_main_clause(clauses[0]))
    )


def _is_object(last: str, earlier: list[str]) -> bool:
    """Return whether the object of a final `as` precedes it: `who they were born as`."""
    return last == "as" and not QUESTIONS.isdisjoint(earlier)


def _lacks_object(last: str, previous: str, earlier: frozenset[str]) -> bool:
    if last == "that":
        return previous in _THAT
    if last == "with":
        return previous in ("as", "here")
    if not QUESTIONS.isdisjoint(earlier):  # `how you feel`, `what it is like`
        return False
    if last in ("of", "to"):
        return previous in (_OF if last == "of" else _TO)
    if last in _COMPARED and not _COMPARING.isdisjoint(earlier):
        return False
    return last in MAY_NEED_MORE and previous not in ENDS_AFTER.get(last, ())


def _lacks_verb(clause: list[str]) -> bool:
    """Return whether a clause ends on a subject: `that your father`, `because she`, `how heavy it`.

    A word after a pronoun may be any verb, listed or not: `when it rains`.
    """
    index = max((i for i, w in enumerate(clause) if w in SUBORDINATORS), default=-1)
    if index < 0:
        return clause[0] == "so" and _is_subject_alone(clause[1:])
    previous, following = clause[index - 1] if index > 0 else "", clause[index + 1 :]
    if clause[index] == "how":
        return len(following) == 2 and following[0] in ADJECTIVES and following[1] in _ALONE
    if (
        clause[index] == "that" and following and following[0] in ADJECTIVES
    ):  # `that sad`, but `is that hard`
        return len(following) == 1 and previous not in _COPULAS | VERBS | {"not"}
    return (clause[index] != "that" or previous in _TAKE_THAT) and _is_subject_alone(following)


def _is_subject_alone(words: list[str]) -> bool:
    """Return whether words are only a subject: `she`, `your old friends`.

    Any word may be a noun.
    """
    if len(words) == 1:
        return words[0] in _ALONE
    bare = words[:1] + words[2:] if len(words) == 3 and words[1] in _QUALITIES else words
    return len(bare) == 2 and bare[0] in ARTICLES and bare[1] not in _TIMES


def _lacks_main_clause(clause: list[str]) -> bool:
    """Return whether a clause lacks its main clause: `What hurts most`, `what I hear is`.

    An exclamation, `what strength you have`, is complete: its second word is a noun.
    """
    if clause in _OPENERS:
        return True
    first, second, *more = *clause, "", ""
    if first != "what" or not (second in _ALONE or may_be_verb(second)):
        return False
    ends_on_be = clause[-1] in BE and QUESTIONS.isdisjoint(more)
    return ends_on_be or sum(map(may_be_verb, clause)) == 1


def may_be_verb(word: str) -> bool:
    """Return whether a word may be a verb, by its stem or its ending."""
    return word.endswith(("ed", "ing")) or stem(word) in _VERB_STEMS
