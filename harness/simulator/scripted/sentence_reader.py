"""Readers, which classify each sentence of a reply by polarity and strategy.

The lexical reader loads its tables with the first sentence, so commands that only name a reader do
not load them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.simulator.scripted.polarity import Polarity


@dataclass(frozen=True, slots=True)
class SentenceLabel:
    """A sentence as classified by a reader."""

    polarity: Polarity
    strategy: str | None
    """The strategy of the sentence; None if it has none."""


class SentenceReader(Hashable, Protocol):
    """Classifies sentences. harness.testing.reader_contract tests what every reader must keep."""

    @property
    def name(self) -> str:
        """Name of the reader on cards and verdicts; readers that differ have different names."""

    @property
    def misses(self) -> int:
        """Number of sentences read so far, not counting those answered from the cache."""

    def hear(self, sentences: Sequence[str]) -> list[SentenceLabel]:
        """Return each sentence as heard. Never fails, whatever the sentence."""


@dataclass(frozen=True, slots=True)
class LexicalReader:
    """Reads by words, kinds of words and phrases: microseconds per sentence, no language model."""

    @property
    def name(self) -> str:
        """Name of the reader on cards."""
        return "lexical"

    @property
    def misses(self) -> int:
        """Number of sentences read so far, not counting those answered from the cache."""
        return _label.cache_info().misses

    def hear(self, sentences: Sequence[str]) -> list[SentenceLabel]:
        """Return each sentence as heard."""
        return [_label(sentence) for sentence in sentences]


LEXICAL = LexicalReader()


@lru_cache(maxsize=16384)
def _label(sentence: str) -> SentenceLabel:
    from harness.simulator.scripted.judgements import judge

    judgement = judge(sentence)
    return SentenceLabel(judgement.polarity, judgement.strategy)


def recognise(text: str, reader: SentenceReader = LEXICAL) -> tuple[str, ...]:
    """Return the strategies of a reply's sentences in order, skipping sentences without one."""
    from harness.simulator.scripted.words import sentences

    return tuple([h.strategy for h in reader.hear(sentences(text)) if h.strategy])
