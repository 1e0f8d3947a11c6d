"""Which of the eight strategies a supporter's sentence carries, from its wording alone.

Wordings that are beyond doubt are rules of the lexicon; the rest goes by the weights of its words.
Neither knows the grammar a policy may speak with. One sentence carries at most one strategy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from harness.simulator.scripted import wording
from harness.simulator.scripted.lexicon import (
    DEMANDS,
    DISMISSIVE,
    FLATTERY,
    OFF_TOPIC,
    OPENINGS,
    PHRASES,
    QUESTION_OPENINGS,
    RESTATING_QUESTION,
    Entries,
)
from harness.simulator.scripted.word_classes import CLAUSE_TAKERS
from harness.simulator.scripted.words import FUNCTION_WORDS, asks, sentences, words

_FILLER = r"(?:and |but |oh |well |then |yes |no |ok |okay |honestly |of course |also |now )*"
MIN_WORDS = 3
"""A strategy is carried by a sentence, not by a word or two."""


def _begins(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"^{_FILLER}(?:{'|'.join(patterns)})(?:\b|(?<= ))")


def _holds(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b")


def _by_strategy(entries: Entries, anchored: bool) -> list[tuple[str, re.Pattern[str]]]:
    return [(name, (_begins if anchored else _holds)(lines)) for name, lines in entries]


_OPENINGS = _by_strategy(OPENINGS, anchored=True)
_OPENINGS_WITHIN = _by_strategy(OPENINGS, anchored=False)
_PHRASES = _by_strategy(PHRASES, anchored=False)
_QUESTIONS = [
    ("suggest", _holds(next(lines for name, lines in PHRASES if name == "suggest"))),
    ("restate", _begins([RESTATING_QUESTION])),
    ("question", _begins([f"(?:so )?(?:{QUESTION_OPENINGS})"])),
    ("question", _holds(["tell me more"])),
]
_FLATTERY = _holds(FLATTERY)
_Stock = tuple[int, int, str]
"""End and start of a stock wording, and its strategy."""
_UNWELCOME = _holds((*DISMISSIVE, *OFF_TOPIC, *DEMANDS))


@lru_cache(maxsize=65536)
def strategy_of(sentence: str) -> str | None:
    """The one strategy a sentence carries; None for a fragment, or where nothing is recognised."""
    found = words(sentence)
    if len(found) < MIN_WORDS or FUNCTION_WORDS.isdisjoint(found) or dismisses(sentence):
        return None
    tried = _QUESTIONS if asks(sentence) else _OPENINGS
    plain = " ".join(found)
    by_rule = next((name for name, pattern in tried if pattern.search(plain)), None)
    if by_rule is None and not asks(sentence):
        by_rule = next((name for _, _, name in _phrases(plain)), None)
    return by_rule or (wording.guess(sentence) if len(found) > MIN_WORDS else None)


@lru_cache(maxsize=4096)
def _phrases(plain: str) -> tuple[_Stock, ...]:
    """The phrases in some words, in the order of the lexicon."""
    return _stock(plain, _PHRASES)


def flatters(plain: str) -> bool:
    """Whether a sentence, in plain words, praises the whole person beyond anything told."""
    return _FLATTERY.search(plain) is not None


@lru_cache(maxsize=65536)
def dismisses(sentence: str) -> bool:
    """Whether a sentence belittles the user, leaves the subject or is meant for a machine."""
    return _UNWELCOME.search(" ".join(words(sentence))) is not None


def stock_kinds(found: list[str]) -> int:
    """Of how many strategies some words hold stock wordings, one beside the other."""
    plain, kinds, end = " ".join(found), set[str](), -1
    for last, first, name in sorted(_phrases(plain) + _stock(plain, _OPENINGS_WITHIN)):
        before = plain[:first].split()[-1:]
        if first > end and CLAUSE_TAKERS.isdisjoint(before):
            kinds.add(name)
            end = last
    return len(kinds)


def _stock(plain: str, tried: list[tuple[str, re.Pattern[str]]]) -> tuple[_Stock, ...]:
    return tuple(
        (m.end(), m.start(), name) for name, p in tried for m in p.finditer(plain) if m.group()
    )


def recognise(text: str) -> tuple[str, ...]:
    """The strategies of a reply, one for each sentence that carries one, in order."""
    return tuple(s for s in map(strategy_of, sentences(text)) if s)
