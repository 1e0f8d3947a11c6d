"""A reply as it is read, and as a row that is kept from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from harness.simulator.scripted.questions import Question
from harness.simulator.scripted.sentence_guard import Fault
from harness.simulator.scripted.words import FUNCTION_WORDS, stem
from harness.utils.record import record

ALIKE, ALIKE_WITHIN, ALIKE_OF_FACT = 0.75, 0.5, 0.85
"""Shares of shared words from which a sentence is the same again: less if one holds the other, more
if it speaks of a fact, which two sentences may well do."""


@record
class Sentence:
    """One sentence of a reply."""

    plain: str
    """Its words."""
    stems: frozenset[str]
    frame: str
    """Its words with its matter left open: `you are _ _`."""
    strategy: str | None
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """Facts spoken of, as (persona index, number)."""
    word_count: int
    hollow: bool
    """It is a user's own line, or praise that nobody takes for meant."""
    caring: float
    """P(it is meant kindly)."""
    hurt_log_odds: float
    """Log-odds that it is hurtful, in nats; less where it speaks of a fact."""
    hurts: bool
    """It belittles or leaves the subject."""
    severe: bool
    """It threatens, scorns or encourages self-harm, if it is hurtful at all."""
    apologises: bool

    def said_before(self, earlier: Collection[str]) -> bool:
        """Return whether one of `earlier`, in plain words, says the same but for a word or two."""
        if self.plain in earlier:
            return True
        stems, count = self.stems, len(self.stems)
        if count < 3:
            return False
        frame = None if self.facts or count < 4 else self.frame
        for other in earlier:
            theirs, their_frame = stems_and_frame(other)
            if their_frame == frame:
                return True
            shared, more = len(stems & theirs), len(theirs)
            share = shared / (count + more - shared)
            if share < ALIKE_WITHIN:  # as mostly
                continue
            least = ALIKE_WITHIN if shared in (more, count) else ALIKE
            if share >= (ALIKE_OF_FACT if self.facts else least):
                return True
        return False


@record
class Reading:
    """A text's content, the same for every user."""

    sentences: tuple[Sentence, ...]
    plain_sentences: tuple[str, ...]
    """The same in plain words."""
    strategies: tuple[str, ...]
    strategy_set: frozenset[str]
    """The same, each once."""
    stems: frozenset[str]
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """Facts spoken of, as (persona index, number)."""
    word_count: int
    caring: float
    """P(its kindest sentence is meant kindly)."""
    hurt_evidence: float
    """Log-odds that it is hurtful, in nats."""
    hurts: bool
    """A sentence belittles or leaves the subject."""
    severe: bool
    """A sentence threatens, scorns or encourages self-harm."""
    apologises: bool
    """A sentence apologises."""
    fault: Fault | None
    """Why it is not language; None if it is."""
    question: Question | None
    """What it leaves the user with to answer: questions.asked."""
    asking: str
    """How far it asks: questions.asking."""


@lru_cache(maxsize=16384)
def stems_and_frame(plain: str) -> tuple[frozenset[str], str]:
    plain_words = plain.split()
    frame = " ".join(w if w in FUNCTION_WORDS else "_" for w in plain_words)
    return frozenset(map(stem, plain_words)), frame


def row_of(reading: Reading) -> str:
    """Return what is to be kept of a reading: its sentences, fault, question and asking."""
    told = [
        _values(reading.sentences, Sentence),
        _values([reading.fault] if reading.fault else [], Fault),
        _values([reading.question] if reading.question else [], Question),
        reading.asking,
    ]
    return json.dumps(told, default=sorted, separators=(",", ":"))


def of_row(row: str) -> tuple[list[Sentence], Fault | None, Question | None, str] | None:
    """Return what a row keeps, to the last bit; None for text that is no such row."""
    try:
        sentences, faults, questions, asking = json.loads(row)
        return (
            [_sentence(*values) for values in sentences],
            Fault(*faults[0]) if faults else None,
            _question(*questions[0]) if questions else None,
            asking,
        )
    except (ValueError, TypeError):
        return None


def _values(some: Collection[Any], kind: type) -> list[tuple[Any, ...]]:
    return list(map(attrgetter(*[field.name for field in fields(kind)]), some))


def _sentence(
    plain: str, stems: list[str], frame: str, strategy: str | None, feelings: list[str],
    facts: list[list[int]], *more: Any,
) -> Sentence:  # fmt: skip
    of_personas = frozenset([(persona, number) for persona, number in facts])
    return Sentence(
        plain, frozenset(stems), frame, strategy, frozenset(feelings), of_personas, *more
    )


def _question(
    subject: str | None, kind: str, named: str, entities: list[str], feelings: list[str],
    plain: str, statements: tuple[str, str],
) -> Question:  # fmt: skip
    yes, no = statements
    return Question(subject, kind, named, frozenset(entities), tuple(feelings), plain, (yes, no))
