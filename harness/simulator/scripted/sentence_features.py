"""Features of a supporter's sentence, from which strategy and polarity are classified.

The features are words and pairs of neighbours; kinds of words (word_kinds.tsv) with the person they
refer to, negation and reported speech; and phrases (phrases.tsv).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from harness.simulator.scripted.word_kinds import PhraseMatch, phrases_in, word_kinds
from harness.simulator.scripted.words import FUNCTION_WORDS, asks, words

NEGATORS = frozenset(
    """not never no nobody nothing none without hardly neither nor cannot nowhere
    barely""".split()  # noqa: SIM905
)
NEGATED_WORDS, REPORTED_WORDS, BEFORE_PHRASE = 5, 4, 3
"""Scopes in words: of a negator, of a verb of saying or feeling, and the distance before a phrase
at which a negator still negates it."""
MOST_KINDS = 3
"""Most kinds of a word that count."""
_PERSONS = {
    word: person
    for person, forms in {
        "YOU": "you u ya yourself", "YOUR": "your ur yours", "I": "i me myself", "MY": "my mine",
        "THEY": "he she they him her them his their people someone somebody anyone anybody "
                "whoever everybody everyone",
        "IT": "it this that these those", "WE": "we us our",
    }.items()
    for word in forms.split()
}  # fmt: skip
_REPORTS = frozenset(
    """told said says say call called calls calling thinks think thought believe believes feel
    feels feeling felt made makes make""".split()  # noqa: SIM905
)
_BREAK = ","
_BREAKS = frozenset([_BREAK, "but", "because", "although", "though", "so", "since", "and"])
"""Words that end the scope of a negation."""
_LIGHT = frozenset(["a", "an", "the", "so", "very", "really", "_"])
_STOPS = re.compile(r"[,;:\u2014\u2013\u2026]|\.\.\.| - |[.?!]+")


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """The features of a sentence."""

    features: frozenset[str]
    """`a b`: neighbours; `kind|person|P`: a word of a kind that refers to a person, plain (P) or
    negated (N); `~a b`: neighbours as kinds; `kindN>kindP`: successive kinds; `phrase:kind|P`: a
    phrase."""
    phrase_kinds: frozenset[str]
    """The kinds of the sentence's phrases that are not negated."""


@lru_cache(maxsize=1024)
def extract_features(sentence: str) -> SentenceFeatures:
    """Return the features of one sentence."""
    tokens = tokenise(sentence)
    stop = "?" if asks(sentence) else "."
    matches = [(match, is_negated(match, tokens)) for match in phrases_in(tokens)]
    features = set(_word_features(tokens, stop))
    for match, is_denied in matches:
        sign = "N" if is_denied else "P"
        features.add(f"phrase:{match.kind}|{sign}")
        features.add(f"phrase:{match.polarity}|{sign}")
        if match.start == 0:
            features.add(f"phrase:{match.polarity}|^")
    not_denied = frozenset([match.kind for match, is_denied in matches if not is_denied])
    return SentenceFeatures(frozenset(features), not_denied)


def tokenise(sentence: str) -> list[str]:
    """Return the words of a sentence, with a comma between clauses."""
    parts = _STOPS.split(sentence)
    tokens = list[str]()
    for part in parts:
        if tokens and tokens[-1] != _BREAK:
            tokens.append(_BREAK)
        tokens += words(part)
    while tokens and tokens[-1] == _BREAK:
        tokens.pop()
    return tokens


def _word_features(tokens: Sequence[str], stop: str) -> Iterator[str]:
    yield ""
    plain = [token for token in tokens if token != _BREAK]
    yield from plain
    yield from (f"{a} {b}" for a, b in pairwise(["^", *plain, stop]))
    yield from (f"^ {' '.join(plain[:n])}" for n in (2, 3) if len(plain) >= n)
    kinds_of = word_kinds()
    frame, chain = ["^"], list[str]()
    person, negated_left, reported_left = "-", 0, 0
    for token in tokens:
        if token in _BREAKS:
            negated_left = reported_left = 0
        if token == _BREAK:
            person = "-"
        person = _PERSONS.get(token, person)
        kinds = kinds_of.get(token, ())[:MOST_KINDS]
        sign, reported_sign = "N" if negated_left > 0 else "P", "R" if reported_left > 0 else ""
        for kind in kinds:
            yield kind
            yield f"{kind}|{sign}"
            yield f"{kind}|{person}"
            yield f"{kind}|{person}|{sign}{reported_sign}"
            yield f"{kind}|{sign}|{stop}"
            chain.append(kind + sign)
        if token not in _PERSONS and token not in FUNCTION_WORDS:
            yield f"{token}|{sign}"
            yield f"{token}|{person}"
        negated_left = NEGATED_WORDS if token in NEGATORS else negated_left - 1
        reported_left = REPORTED_WORDS if token in _REPORTS else reported_left - 1
        frame.append(_frame_class(token, kinds))
    frame.append(stop)
    yield from (f"{a}>{b}" for a, b in pairwise(chain))
    heavy = [part for part in frame if part not in _LIGHT]
    yield from (f"~{a} {b}" for a, b in pairwise(heavy))
    yield from (f"~{a} {b} {c}" for a, b, c in zip(heavy, heavy[1:], heavy[2:], strict=False))


def _frame_class(token: str, kinds: Sequence[str]) -> str:
    """Return the class of a word: person, NEG, first kind, the function word itself, or `_`."""
    if token in _PERSONS:
        return _PERSONS[token]
    if token in NEGATORS:
        return "NEG"
    if kinds:
        return kinds[0]
    return token if token in FUNCTION_WORDS or token == _BREAK else "_"


def is_negated(match: PhraseMatch, tokens: Sequence[str]) -> bool:
    """Return whether a negator shortly before a phrase negates it."""
    preceding = tokens[max(0, match.start - BEFORE_PHRASE) : match.start]
    return not NEGATORS.isdisjoint(preceding)
