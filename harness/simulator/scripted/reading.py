"""A reply as the user reads it: everything that depends on its text alone, computed once.

Sentences recur more often than whole replies, so costly results are cached by sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain

from harness.simulator.personas import EVERYONE
from harness.simulator.scripted import kept_replies, language_guard
from harness.simulator.scripted.judgements import judge
from harness.simulator.scripted.lines import FALLS, LINES, NEED_LINES, RISES, all_lines
from harness.simulator.scripted.questions import ParsedQuestion, asked_and_asking
from harness.simulator.scripted.recognition import flatters
from harness.simulator.scripted.replies import (
    ReplyReading,
    SentenceReading,
    of_row,
    row_of,
    stems_and_frame,
)
from harness.simulator.scripted.sentence_guard import LanguageFault
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceLabel, SentenceReader
from harness.simulator.scripted.words import (
    FUNCTION_WORDS,
    content,
    sentences,
    stem,
    strip_labels,
    words,
)
from harness.utils.remembered import ValueCache

_FIRST_PERSON = frozenset(["i", "me", "my", "mine", "myself", "we", "us", "our"])
MIN_ECHO_WORDS = 3
"""Fewest words of a line that counts as a user's own; anybody may say a shorter one."""


def _plain(text: str) -> str:
    return " ".join(words(text))


_TOLD = frozenset(_plain(sentence.text) for p in EVERYONE for sentence in p.tellable)
"""All sentences that a user may tell, in plain words."""
_TOPICS = frozenset(
    _plain(opener.format(t=persona.topic))
    for persona in EVERYONE
    for openers in LINES["opener"].values()
    for opener in openers
)
_REACTIONS = (
    *(f"rise.{reason}" for reason in RISES),
    *(f"fall.{reason}" for reason in FALLS),
    "silent",
)
_OWN_LINES = frozenset(
    plain
    for plain in map(_plain, all_lines(_REACTIONS).union(NEED_LINES))
    if plain.count(" ") >= MIN_ECHO_WORDS - 1
)
_FELT = "|".join(
    sorted({f for p in EVERYONE for f in p.feelings} | {"better", "happy", "fine", "good", "great"})
)
_OWN_FEELING = re.compile(
    rf"^(?:yes |no |now )*(?:most days )?i (?:still )?(?:feel|am) (?:\w+ ){{0,3}}?(?:{_FELT})"
    r"(?: (?:now|today|about it|a lot|these days|any more|anymore|again|as before))*"
    r"(?:$| that i | and i | you )"
)


def echoes(plain: str) -> bool:
    """Return whether a sentence, in plain words, echoes a user's own words.

    An echo is not an answer: a supporter who restates a user's words must change the first person
    into the second.
    """
    if plain in _OWN_LINES or _OWN_FEELING.search(plain):
        return True
    if plain in _TOPICS or plain in _TOLD:
        return True
    return _is_in_first_person(plain) and _contains_own_line(plain)


def _contains_own_line(plain: str) -> bool:
    """Return whether a sentence contains a first-person sentence of a user."""
    plain_words = plain.split()
    starts = range(len(plain_words) - BEGINNING + 1)
    beginnings = [" ".join(plain_words[n : n + BEGINNING]) for n in starts]
    padded = f" {plain} "
    return any(f" {line} " in padded for b in beginnings for line in _OWN_BY_BEGINNING.get(b, ()))


def _is_in_first_person(plain: str) -> bool:
    return not _FIRST_PERSON.isdisjoint(plain.split())


BEGINNING = 3
"""Number of first words by which a user's sentences are indexed."""


def _own_by_beginning() -> dict[str, list[str]]:
    by_beginning: dict[str, list[str]] = {}
    for line in filter(_is_in_first_person, _TOLD | _TOPICS):
        by_beginning.setdefault(" ".join(line.split()[:BEGINNING]), []).append(line)
    return by_beginning


_OWN_BY_BEGINNING = _own_by_beginning()


FACT_STEMS: tuple[tuple[frozenset[str], ...], ...] = tuple(
    tuple(content(fact) for fact in persona.facts) for persona in EVERYONE
)
TELLABLE_STEMS: tuple[tuple[frozenset[str], ...], ...] = tuple(
    tuple(content(sentence.text) for sentence in persona.tellable) for persona in EVERYONE
)
"""Content stems by persona and tellable sentence."""
COMMON_STEMS = frozenset(map(stem, FUNCTION_WORDS))
FEELINGS = {stem(feeling): feeling for persona in EVERYONE for feeling in persona.feelings}
PICK_UP_SHARE, FEWEST_SHARED = 0.6, 2
"""Least share and number of a fact's content stems that a sentence must share to take it up."""
KIND_FROM = 0.85
"""P(caring) from which a dismissive wording is taken as negated: `You're not overreacting.`"""
FACT_LOG_ODDS = -1.5
"""Added to the log-odds of hurt of a sentence that restates a fact, which is mostly meant well."""
OTHERS_SHARE, MOST_EXCUSED, MOST_ADDED = 0.8, 1.0, 6.0
"""Share of the other sentences' log-odds that is added to the most hurtful sentence's, and the most
that they can take off or add: kindness beside cruelty does not undo it."""


def _facts_by_stem() -> dict[str, list[tuple[int, int]]]:
    facts_by_stem: dict[str, list[tuple[int, int]]] = {}
    for persona_index, facts in enumerate(FACT_STEMS):
        for number, stems in enumerate(facts):
            for word in stems:
                facts_by_stem.setdefault(word, []).append((persona_index, number))
    return facts_by_stem


_FACTS_BY_STEM = _facts_by_stem()
"""Facts, as (persona index, number), by their stems."""


READINGS = 32768
"""Number of cached readings, about 3 kB each. The tabular policy says 27,000 different sentences
in 300 steps and repeats them after long gaps."""


def read(text: str, reader: SentenceReader = LEXICAL) -> ReplyReading:
    """Return the reading of `text`. Never fails, whatever the text."""
    return read_all((text,), reader)[0]


def read_all(texts: Sequence[str], reader: SentenceReader = LEXICAL) -> list[ReplyReading]:
    """Return the reading of each text. The reader hears the sentences of all new texts at once."""
    return _cache(reader).of(texts, lambda new: _load_or_read(new, reader))


@cache
def _cache(reader: SentenceReader) -> ValueCache[str, ReplyReading]:
    return ValueCache(READINGS)


def _load_or_read(texts: Sequence[str], reader: SentenceReader) -> list[ReplyReading]:
    """Return the reading of each text, from the cache on disk where it has one."""
    cached = [_load_reading(text) if reader is LEXICAL else None for text in texts]
    new = [text for text, reading in zip(texts, cached, strict=True) if reading is None]
    new_readings = dict(zip(new, _read(new, reader), strict=True))
    if reader is LEXICAL:
        kept_replies.add((text, row_of(reading)) for text, reading in new_readings.items())
    return [reading or new_readings[text] for text, reading in zip(texts, cached, strict=True)]


def _load_reading(text: str) -> ReplyReading | None:
    row = kept_replies.row(text)
    values = None if row is None else of_row(row)
    return None if values is None else _combine(*values)


def _read(texts: Sequence[str], reader: SentenceReader) -> Iterator[ReplyReading]:
    """Yield the reading of each text."""
    shortened = [text[: language_guard.MAX_CHARACTERS + 1] for text in texts]
    parts = [sentences(strip_labels(text)) for text in shortened]
    labels = iter(reader.hear([sentence for part in parts for sentence in part]))
    for text, beginning, part in zip(texts, shortened, parts, strict=True):
        sentence_readings = [_read_sentence(sentence, next(labels)) for sentence in part]
        yield _combine(sentence_readings, language_guard.fault(beginning), *asked_and_asking(text))


def _combine(
    parts: Sequence[SentenceReading],
    fault: LanguageFault | None,
    question: ParsedQuestion | None,
    asking: str,
) -> ReplyReading:
    """Return the reading of a text, from its sentences and from what the whole text gives."""
    strategies = tuple([part.strategy for part in parts if part.strategy])
    single = parts[0] if len(parts) == 1 else None  # the sets of a single sentence need no copy
    return ReplyReading(
        sentences=tuple(parts),
        plain_sentences=tuple([part.plain for part in parts]),
        strategies=strategies,
        strategy_set=frozenset(strategies),
        stems=single.stems if single else frozenset().union(*[part.stems for part in parts]),
        feelings=single.feelings if single else frozenset().union(*[p.feelings for p in parts]),
        facts=single.facts if single else frozenset().union(*[part.facts for part in parts]),
        word_count=sum([part.word_count for part in parts]),
        caring=max([part.caring for part in parts], default=0.0),
        hurt_evidence=_hurt_evidence([part.hurt_log_odds for part in parts]),
        hurts=True in [part.hurts for part in parts],
        severe=True in [part.severe for part in parts],
        apologises=True in [part.apologises for part in parts],
        fault=fault,
        question=question,
        asking=asking,
    )


def _hurt_evidence(log_odds: Sequence[float]) -> float:
    """Return the log-odds, in nats, that the sentences together are hurtful."""
    most = max(log_odds, default=0.0)
    others = OTHERS_SHARE * (sum(log_odds) - most)
    return most + max(-MOST_EXCUSED, min(MOST_ADDED, others))


@lru_cache(maxsize=16384)
def _read_sentence(sentence: str, label: SentenceLabel) -> SentenceReading:
    sentence_words = words(sentence)
    plain = " ".join(sentence_words)
    stems, frame = stems_and_frame(plain)
    facts = frozenset(_facts(stems))
    hollow = echoes(plain) or flatters(plain)
    polarity, judgement = label.polarity, judge(sentence)
    hurts = judgement.dismisses and polarity.caring < KIND_FROM
    return SentenceReading(
        plain,
        stems,
        frame,
        strategy=None if hollow or hurts else label.strategy,
        feelings=frozenset([FEELINGS[s] for s in stems if s in FEELINGS]),
        facts=facts,
        word_count=len(sentence_words),
        hollow=hollow,
        caring=polarity.caring,
        hurt_log_odds=polarity.hurt_log_odds + (FACT_LOG_ODDS if facts else 0.0),
        hurts=hurts,
        severe=judgement.severe,
        apologises=judgement.apologises,
    )


def takes_up(stems: frozenset[str], told_stems: frozenset[str]) -> bool:
    """Return whether a sentence with `stems` takes up a told one with the stems `told_stems`."""
    shared = len(stems & told_stems)
    return shared >= FEWEST_SHARED and shared >= PICK_UP_SHARE * len(told_stems)


def _facts(stems: frozenset[str]) -> list[tuple[int, int]]:
    """Return the facts that a sentence with `stems` takes up, as (persona index, number)."""
    shared = Counter(chain.from_iterable([_FACTS_BY_STEM.get(stem, ()) for stem in stems]))
    shared_facts = [fact for fact, count in shared.items() if count >= FEWEST_SHARED]
    return [(persona, n) for persona, n in shared_facts if takes_up(stems, FACT_STEMS[persona][n])]
