"""What hears each sentence of a reply: how it is meant, and which strategy it carries.

The tables that the lexical reader hears by are read with the first sentence: commands that only
name a reader do without.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.simulator.scripted.polarity import Polarity


@dataclass(frozen=True, slots=True)
class Heard:
    """A sentence as it is heard."""

    polarity: Polarity
    strategy: str | None
    """The one strategy that it carries; None if it carries none."""


class SentenceReader(Hashable, Protocol):
    """Hears sentences; harness.testing.reader_contract says what every reader keeps."""

    @property
    def name(self) -> str:
        """The reader as cards and verdicts name it; two that hear differently have two names."""

    @property
    def misses(self) -> int:
        """Sentences that had to be read; one that is remembered is not read again."""

    def hear(self, sentences: Sequence[str]) -> list[Heard]:
        """Return how each sentence is heard; it never fails, whatever the sentence."""


@dataclass(frozen=True, slots=True)
class LexicalReader:
    """Hears by words, kinds of words and phrases: microseconds a sentence, no model."""

    @property
    def name(self) -> str:
        """The reader as cards name it."""
        return "lexical"

    @property
    def misses(self) -> int:
        """Sentences that had to be read."""
        return _heard.cache_info().misses

    def hear(self, sentences: Sequence[str]) -> list[Heard]:
        """Return how each sentence is heard."""
        return [_heard(sentence) for sentence in sentences]


LEXICAL = LexicalReader()


@lru_cache(maxsize=16384)
def _heard(sentence: str) -> Heard:
    from harness.simulator.scripted.judgements import judged

    judgement = judged(sentence)
    return Heard(judgement.polarity, judgement.strategy)


def recognise(text: str, reader: SentenceReader = LEXICAL) -> tuple[str, ...]:
    """Return the strategies of a reply, one for each sentence that carries one, in order."""
    from harness.simulator.scripted.words import sentences

    return tuple([h.strategy for h in reader.hear(sentences(text)) if h.strategy])
