"""The reading of a reply, and its serialisation to a row of the cache on disk."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from harness.simulator.scripted.questions import ParsedQuestion
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.scripted.words import FUNCTION_WORDS, stem
from harness.utils.record import record

ALIKE, ALIKE_WITHIN, ALIKE_OF_FACT = 0.75, 0.5, 0.85
"""Jaccard similarity from which a sentence repeats another: in general, if one contains the other,
and if it takes up a fact, which two different sentences may do."""


@record
class SentenceReading:
    """One sentence of a reply."""

    plain: str
    """The words of the sentence."""
    stems: frozenset[str]
    frame: str
    """The words with content words left blank: `you are _ _`."""
    strategy: str | None
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """Facts spoken of, as (persona index, number)."""
    word_count: int
    hollow: bool
    """True if the sentence echoes a user's own words or flatters."""
    caring: float
    """P(the sentence is caring)."""
    hurt_log_odds: float
    """Log-odds that the sentence is hurtful, in nats; lower if it takes up a fact."""
    hurts: bool
    """True if the sentence belittles, changes the subject or addresses a machine."""
    severe: bool
    """True if the sentence, if hurtful, threatens, scorns or encourages self-harm."""
    apologises: bool

    def said_before(self, earlier: Collection[str]) -> bool:
        """Return whether one of `earlier`, in plain words, says nearly the same."""
        if self.plain in earlier:
            return True
        stems, count = self.stems, len(self.stems)
        if count < 3:
            return False
        frame = None if self.facts or count < 4 else self.frame
        for other in earlier:
            other_stems, other_frame = stems_and_frame(other)
            if other_frame == frame:
                return True
            shared, other_count = len(stems & other_stems), len(other_stems)
            share = shared / (count + other_count - shared)
            if share < ALIKE_WITHIN:  # the most common case
                continue
            least = ALIKE_WITHIN if shared in (other_count, count) else ALIKE
            if share >= (ALIKE_OF_FACT if self.facts else least):
                return True
        return False


@record
class ReplyReading:
    """The reading of a text, the same for every user."""

    sentences: tuple[SentenceReading, ...]
    plain_sentences: tuple[str, ...]
    """The sentences in plain words."""
    strategies: tuple[str, ...]
    strategy_set: frozenset[str]
    """The distinct strategies."""
    stems: frozenset[str]
    feelings: frozenset[str]
    facts: frozenset[tuple[int, int]]
    """Facts spoken of, as (persona index, number)."""
    word_count: int
    caring: float
    """P(caring) of the most caring sentence."""
    hurt_evidence: float
    """Log-odds that the text is hurtful, in nats."""
    hurts: bool
    """True if a sentence belittles, changes the subject or addresses a machine."""
    severe: bool
    """True if a sentence threatens, scorns or encourages self-harm."""
    apologises: bool
    """True if a sentence apologises."""
    fault: LanguageFault | None
    """Why the text is not language; None if it is."""
    question: ParsedQuestion | None
    """The question to answer; see `questions.question_in`."""
    asking: str
    """How far the text asks; see `questions.asking`."""


@lru_cache(maxsize=16384)
def stems_and_frame(plain: str) -> tuple[frozenset[str], str]:
    plain_words = plain.split()
    frame = " ".join(w if w in FUNCTION_WORDS else "_" for w in plain_words)
    return frozenset(map(stem, plain_words)), frame


def row_of(reading: ReplyReading) -> str:
    """Return a reading as JSON: its sentences, fault, question and asking."""
    values = [
        _values(reading.sentences, SentenceReading),
        _values([reading.fault] if reading.fault else [], LanguageFault),
        _values([reading.question] if reading.question else [], ParsedQuestion),
        reading.asking,
    ]
    return json.dumps(values, default=sorted, separators=(",", ":"))


def of_row(
    row: str,
) -> tuple[list[SentenceReading], LanguageFault | None, ParsedQuestion | None, str] | None:
    """Return the exact inverse of `row_of`; None for text that is not such a row."""
    try:
        sentences, faults, questions, asking = json.loads(row)
        return (
            [_sentence(*values) for values in sentences],
            LanguageFault(*faults[0]) if faults else None,
            _question(*questions[0]) if questions else None,
            asking,
        )
    except (ValueError, TypeError):
        return None


def _values(records: Collection[Any], kind: type) -> list[tuple[Any, ...]]:
    return list(map(attrgetter(*[field.name for field in fields(kind)]), records))


def _sentence(
    plain: str, stems: list[str], frame: str, strategy: str | None, feelings: list[str],
    facts: list[list[int]], *more: Any,
) -> SentenceReading:  # fmt: skip
    fact_pairs = frozenset([(persona, number) for persona, number in facts])
    return SentenceReading(
        plain, frozenset(stems), frame, strategy, frozenset(feelings), fact_pairs, *more
    )


def _question(
    subject: str | None, kind: str, named: str, entities: list[str], feelings: list[str],
    plain: str, statements: tuple[str, str],
) -> ParsedQuestion:  # fmt: skip
    yes, no = statements
    return ParsedQuestion(
        subject, kind, named, frozenset(entities), tuple(feelings), plain, (yes, no)
    )
