"""What the second user tells: the sentence of their life that a question asks for, or the next one.

A question's topic is the one with the most weight among its cues (topics.tsv). Among the sentences
on the topic, the one that shares the rarest words with the question is told. Nothing is told twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from functools import cache, lru_cache
from pathlib import Path

from harness.simulator.personas import EVERYONE, TOPICS
from harness.simulator.second import patterns
from harness.simulator.second.reading import ParsedSentence
from harness.simulator.second.sentence import DENIALS
from harness.simulator.second.text import gist, stems

SUBJECTS = (*TOPICS, "feeling", "need", "absent")
"""All subjects of a question. `absent` stands for things that few personas' lives cover."""
_CUES = patterns.read(Path(__file__).with_name("topics.tsv"), SUBJECTS, DENIALS)
SAFE, ABSENT = "safe", "absent"
NEAR = 2.0
"""Least score of a sentence that answers, whether from the topic or from shared words."""
ON_TOPIC = 3.0
"""Score of a sentence on the question's topic."""


@lru_cache(maxsize=16384)
def subject_of(plain: str) -> str | None:
    """Return the subject of a question, one of SUBJECTS; None without a cue."""
    votes = dict[str, float]()
    for match in _CUES.find(plain.split()):
        weight = match.pattern.weight / (1 + 0.05 * match.at)
        votes[match.pattern.cue] = votes.get(match.pattern.cue, 0.0) + weight
    return max(votes, key=lambda subject: votes[subject]) if votes else None


def question_of(sentences: Collection[ParsedSentence]) -> ParsedSentence | None:
    """Return the question to answer: the last one about safety, or else the last one."""
    questions = [s for s in sentences if s.asks]
    about_safety = [s for s in questions if subject_of(s.plain) == SAFE]
    chosen = about_safety or questions
    return chosen[-1] if chosen else None


def answer(persona: int, question: ParsedSentence, told_indices: Collection[int]) -> int | None:
    """Return the index of the untold sentence that answers best; None if none is connected."""
    subject = subject_of(question.plain)
    scored = [
        (_overlap(persona, index, question.about) + (ON_TOPIC if topic == subject else 0), -index)
        for index, topic in enumerate(_topics(persona))
        if index not in told_indices and (topic != SAFE or subject == SAFE)
    ]
    score, number = max(scored, default=(0.0, 0))
    least = 2 * NEAR if subject == ABSENT else NEAR
    return -number if score >= least else None


def unasked_disclosure(
    persona: int, about: frozenset[str], told_indices: Collection[int]
) -> int | None:
    """Return the index of an unasked disclosure: what the reply touches on, else the next one."""
    topics = _topics(persona)
    untold = [n for n, topic in enumerate(topics) if n not in told_indices and topic != SAFE]
    touched = [(_overlap(persona, n, about), -n) for n in untold]
    weight, number = max(touched, default=(0.0, 0))
    if weight >= 2 * NEAR:
        return -number
    return untold[0] if untold else None


def uptake(persona: int, index: int, words: frozenset[str]) -> float:
    """Return the share of a told sentence's stems that are among `words`."""
    told_gist = _gists(persona)[index]
    return len(told_gist & words) / len(told_gist) if told_gist else 0.0


@cache
def _gists(persona: int) -> tuple[frozenset[str], ...]:
    return tuple([gist(tellable.text) for tellable in EVERYONE[persona].tellable])


@cache
def sentence_stems(persona: int) -> tuple[frozenset[str], ...]:
    """Return the stems of each sentence that a persona can tell."""
    return tuple([stems(tellable.text) for tellable in EVERYONE[persona].tellable])


@cache
def _topics(persona: int) -> tuple[str, ...]:
    return tuple([tellable.topic for tellable in EVERYONE[persona].tellable])


def _overlap(persona: int, index: int, about: frozenset[str]) -> float:
    """Return the summed rarity of the stems that a sentence shares with `about`."""
    rarity = _rarity(persona)
    return sum([rarity[word] for word in sentence_stems(persona)[index] & about])


@cache
def _rarity(persona: int) -> dict[str, float]:
    """Return the rarity of each stem among a persona's sentences: nats minus 1.5, at least 0.3."""
    rows = sentence_stems(persona)
    counts = Counter(word for row in rows for word in row)
    return {word: max(0.3, math.log(len(rows) / n) - 1.5) for word, n in counts.items()}
