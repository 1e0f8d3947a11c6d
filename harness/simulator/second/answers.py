"""What the second user tells: the sentence of their life that a question asks for, or the next one.

A question's topic is what most of its cues (topics.tsv) name; of the sentences on it the one that
shares the rarest words with the question is told. Nothing is told twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from functools import cache, lru_cache
from pathlib import Path

from harness.simulator.personas import EVERYONE, TOPICS
from harness.simulator.second import patterns
from harness.simulator.second.reading import HeardSentence
from harness.simulator.second.sentence import DENIALS
from harness.simulator.second.text import gist, stems

SUBJECTS = (*TOPICS, "feeling", "need", "absent")
"""All that a question can be about; absent: things that few lives speak of."""
_CUES = patterns.read(Path(__file__).with_name("topics.tsv"), SUBJECTS, DENIALS)
SAFE, ABSENT = "safe", "absent"
NEAR = 2.0
"""Weight of shared words at which a sentence answers whatever the topic."""
ON_TOPIC = 3.0
"""What a sentence of the topic asked for gains."""


@lru_cache(maxsize=16384)
def subject_of(plain: str) -> str | None:
    """Return what a question is about, one of SUBJECTS; None where no cue says."""
    votes = dict[str, float]()
    for found in _CUES.find(plain.split()):
        weight = found.pattern.weight / (1 + 0.05 * found.at)
        votes[found.pattern.cue] = votes.get(found.pattern.cue, 0.0) + weight
    return max(votes, key=lambda subject: votes[subject]) if votes else None


def question_of(said: Collection[HeardSentence]) -> HeardSentence | None:
    """Return the question that a reply leaves its user with: on safety, else the last."""
    asked = [s for s in said if s.asks]
    grave = [s for s in asked if subject_of(s.plain) == SAFE]
    chosen = grave or asked
    return chosen[-1] if chosen else None


def answer(persona: int, question: HeardSentence, told: Collection[int]) -> int | None:
    """Return the number of the untold sentence that answers best; None where none is connected."""
    subject = subject_of(question.plain)
    scored = [
        (_overlap(persona, index, question.about) + (ON_TOPIC if topic == subject else 0), -index)
        for index, topic in enumerate(_topics(persona))
        if index not in told and (topic != SAFE or subject == SAFE)
    ]
    score, number = max(scored, default=(0.0, 0))
    least = 2 * NEAR if subject == ABSENT else NEAR
    return -number if score >= least else None


def unasked(persona: int, about: frozenset[str], told: Collection[int]) -> int | None:
    """Return what is told of one's own accord: what the reply touches on, else the next fact."""
    topics = _topics(persona)
    left = [n for n, topic in enumerate(topics) if n not in told and topic != SAFE]
    touched = [(_overlap(persona, n, about), -n) for n in left]
    weight, number = max(touched, default=(0.0, 0))
    if weight >= 2 * NEAR:
        return -number
    return left[0] if left else None


def uptake(persona: int, index: int, words: frozenset[str]) -> float:
    """Return the share of what a told sentence speaks of that is among the stems `words`."""
    own = _gists(persona)[index]
    return len(own & words) / len(own) if own else 0.0


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
    """Return the weight of the words that a sentence shares with a question: the rarer the more."""
    rarity = _rarity(persona)
    return sum([rarity[word] for word in sentence_stems(persona)[index] & about])


@cache
def _rarity(persona: int) -> dict[str, float]:
    """Return nats of surprise of each stem among the sentences of a persona, less those of two."""
    rows = sentence_stems(persona)
    counts = Counter(word for row in rows for word in row)
    return {word: max(0.3, math.log(len(rows) / n) - 1.5) for word, n in counts.items()}
