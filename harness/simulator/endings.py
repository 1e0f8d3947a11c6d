"""Does a sentence reach its end? By its last words; one broken off in the middle has not.

A closed list says which words need more after them, and after what they do not: `and so I` against
`my wife and I`, `it is common to` against `if you want to`. What stands at the end of a sentence
anyway (`it hurts that you have`) is not found. What follows a question word may lack its object.
"""

from __future__ import annotations

from harness.simulator.word_classes import (
    ADJECTIVES,
    ARTICLES,
    BE,
    CLAUSE_TAKERS,
    MORE_VERBS,
    QUESTIONS,
    SUBJECTS,
    VERBS,
)
from harness.simulator.words import FUNCTION_WORDS, stem

NEEDS_MORE = ARTICLES | frozenset(["and", "or", "because", "if", "than", "as", "whether", "unless"])
"""Words no sentence ends with, whatever came before."""
MAY_NEED_MORE = frozenset(
    "but very quite feel seem sounds while although from during like".split()  # noqa: SIM905
)
"""Words a sentence ends with only after a question word: `how you feel`."""
SUBORDINATORS = frozenset(
    ["that", "so", "because", "when", "if", "while", "although", "how", "whether"]
)
LONGEST_SUBJECT = 3
"""Words after a subordinator that may still be its subject alone: `that the whole team`."""
SHORT_SUBJECTS = SUBJECTS | {"you", "it"}
_BEGIN_SUBJECTS = SHORT_SUBJECTS | ARTICLES | {"his", "nobody", "people"}
_TIMES = frozenset(
    """day night week month year time times morning evening moment way whole long much many same
    first last next other only best most""".split()  # noqa: SIM905
)
"""`I did that the other day`, `we can do that your way`: `that` was the object."""
_TAKE_THAT = (CLAUSE_TAKERS | ADJECTIVES | {"hurts", "now", "so", "known", "you", "it"}) - {"like"}
_BEFORE_THAT = ADJECTIVES | {"now", "it", "hurts", "sorry"}
"""`so hard that`, `now that`: after these `that` is no object."""
_BEFORE_TO = frozenset(["common", "hard", "painful", "heavy", "helps", "courage", "sorry"])
"""`It is common to`, unlike `if you want to`, `I am glad to` and `nobody to talk to`."""
_SIZES = frozenset(["long", "big", "small", "new", "great", "quiet", "large", "good", "bad"])
_LICENCES = QUESTIONS | frozenset(
    """to that all everything something nothing anything someone somebody nobody anyone one ones
    thing things person people place""".split()  # noqa: SIM905
)
"""What a preposition at the end may belong to: `somebody to be with`, `all you dream of`."""
_OPEN_ONLY = frozenset(["if", "when", "although", "while"])
_VERB_STEMS = frozenset(map(stem, VERBS | MORE_VERBS))


def unfinished(clauses: list[list[str]], stopped: bool) -> bool:
    """Whether a sentence, as the words of its clauses, stops before its end.

    `stopped` by a full stop: without one `what hurts most` may be a question.
    """
    *earlier, last = [w for clause in clauses for w in clause]
    before = earlier[-1] if earlier else ""
    if last in QUESTIONS:
        return len(earlier) > 2 and not _may_ask(before)
    return (
        last in NEEDS_MORE
        or _lacks_object(last, before, frozenset(earlier))
        or _lacks_verb(clauses[-1])
        or (last in _SIZES and before in ("a", "an"))
        or (stopped and _lacks_main_clause(clauses))
    )


def _lacks_object(last: str, before: str, earlier: frozenset[str]) -> bool:
    if last == "that":
        return before in _BEFORE_THAT
    if last == "with":
        return before in ("as", "here")
    if last == "of":
        return before == "out" or _LICENCES.isdisjoint(earlier)
    if not QUESTIONS.isdisjoint(earlier):  # `how you feel`, `what it is like`
        return False
    if last == "to":
        return before in _BEFORE_TO
    return last in MAY_NEED_MORE and not _ends_after_all(last, before, earlier)


def _ends_after_all(last: str, before: str, earlier: frozenset[str]) -> bool:
    """`for a while`, `closer than you feel`, `as long as you like`."""
    if last == "like":
        return before in SUBJECTS or before in ("you", "do", "not", "would")
    return (last == "while" and before == "a") or (last == "feel" and "than" in earlier)


def _lacks_verb(clause: list[str]) -> bool:
    """`that your father`, `because she`, `how heavy it`: a subject, and the sentence is over."""
    at = max((i for i, w in enumerate(clause) if w in SUBORDINATORS), default=-1)
    before, subject = clause[at - 1] if at > 0 else "", clause[at + 1 :]
    if at < 0 or not 0 < len(subject) <= LONGEST_SUBJECT:
        return False
    if clause[at] == "how":
        return len(subject) == 2 and subject[0] in ADJECTIVES and subject[1] in SHORT_SUBJECTS
    if clause[at] == "that" and subject[0] in ADJECTIVES:  # `that sad`, but `is that hard`
        return len(subject) == 1 and before not in BE | VERBS
    if clause[at] == "that" and before not in _TAKE_THAT:
        return False
    begins = subject[0] in _BEGIN_SUBJECTS and _TIMES.isdisjoint(subject)
    return begins and not any(map(may_be_verb, subject))


def _lacks_main_clause(clauses: list[list[str]]) -> bool:
    """`If I understand`, `what hurts most`, `what I hear is`: all that was said is what opens."""
    if len(clauses) > 1:
        return False
    first, second, *more = *clauses[0], ""
    verbs = sum(map(may_be_verb, clauses[0]))
    if first == "what" and second not in ARTICLES:
        return verbs == 1 or (clauses[0][-1] in BE and QUESTIONS.isdisjoint(more))
    return first in _OPEN_ONLY and second != "you" and verbs == 1


def may_be_verb(word: str) -> bool:
    """By its stem or its ending."""
    return word.endswith(("ed", "ing")) or stem(word) in _VERB_STEMS


def _may_ask(word: str) -> bool:
    """`without knowing why`, `I wonder how`."""
    return word in FUNCTION_WORDS or word.endswith("ing") or word in VERBS
